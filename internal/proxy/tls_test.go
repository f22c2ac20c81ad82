package proxy_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate writes a self-signed certificate of a name and its key, and returns the certificate as PEM.
func writeCertificate(t *testing.T, dir, name string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "mesh.example", Path: "/ns/shop/sa/" + name}},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
	for file, content := range map[string][]byte{
		"cert.pem": text, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// A listener terminates TLS and shows the server name to rules, a cluster originates it, and a new certificate is
// served without a restart.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	first := writeCertificate(t, dir, "a.example")
	text := strings.ReplaceAll(`
listeners:
- name: outer
  spec: {protocol: TCP, port: $OUTER, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: TCP, port: $IN, tls: {ca: DIR/cert.pem, server_name: a.example}}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]
- name: in
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1, tls: {certificate: DIR/cert.pem, key: DIR/key.pem}}
  rules: [{match: {op: test, path: /TLS/sni, value: a.example}, action: {route: {destination: {spec: {protocol: Echo}}}}}]
`, "DIR", dir)
	at := start(t, text, "OUTER", "IN")
	c := dial(t, "tcp", at["OUTER"])
	_, _ = io.WriteString(c, "hello")
	_ = c.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
		t.Errorf("got %q, error %v", got, err)
	}
	served := func() []byte {
		c, err := tls.Dial("tcp", at["IN"], &tls.Config{ServerName: "b.example", InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if all, err := io.ReadAll(c); len(all) > 0 || err != nil {
			t.Errorf("another server name: got %q, error %v", all, err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.ConnectionState().PeerCertificates[0].Raw})
	}
	if !bytes.Equal(served(), first) {
		t.Error("another certificate than that of the file")
	}
	second := writeCertificate(t, dir, "a.example")
	later := time.Now().Add(time.Minute) // the clock of files may be coarse
	for _, file := range []string{"cert.pem", "key.pem"} {
		if err := os.Chtimes(filepath.Join(dir, file), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(served(), second) {
		t.Error("the certificate is not that of the changed file")
	}
}

// HTTPS ends at the listener; plaintext clients get nothing.
func TestHTTPS(t *testing.T) {
	dir := t.TempDir()
	authority := x509.NewCertPool()
	authority.AppendCertsFromPEM(writeCertificate(t, dir, "localhost"))
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %d", r.Host, len(body))
	})
	at := start(t, strings.Replace(fmt.Sprintf(httpConfig, up, up), "port: $IN,",
		fmt.Sprintf("port: $IN, tls: {certificate: %s/cert.pem, key: %s/key.pem},", dir, dir), 1), "IN")
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority}}}
	response, err := client.Post("https://"+at["IN"]+"/a", "text/plain", bytes.NewReader(make([]byte, 200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); string(body) != at["IN"]+" 200000" {
		t.Errorf("got %d %q", response.StatusCode, body)
	}
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
	if all, _ := io.ReadAll(c); bytes.Contains(all, []byte("HTTP/1.1 200")) {
		t.Errorf("a plaintext client got %q", all)
	}
}

// A certificate that is missing is an error at once.
func TestMissingCertificate(t *testing.T) {
	err := tryStart(t, `listeners: [{name: in, spec: {protocol: TCP, port: 1, tls: {certificate: /nothing, key: /nothing}}, rules: x}]`)
	if err == nil || !strings.Contains(err.Error(), "tls.certificate: ") {
		t.Errorf("got error %v", err)
	}
}

// Clients get the certificate of the server name that they ask for, or else that of the listener. One that is missing
// stops its own clients only.
func TestCertificatesOfHosts(t *testing.T) {
	dirs := map[string]string{}
	for _, name := range []string{"other.example", "a.example", "b.example"} {
		dirs[name] = t.TempDir()
		writeCertificate(t, dirs[name], name)
	}
	hosts := "hosts: ["
	for names, of := range map[string]string{"[A.example, a2.example]": "a.example", "[b.example]": "b.example"} {
		hosts += fmt.Sprintf("{hosts: %s, certificate: %[2]s/cert.pem, key: %[2]s/key.pem}, ", names, dirs[of])
	}
	hosts += "{hosts: [gone.example], certificate: /nothing, key: /nothing}]"
	at := start(t, fmt.Sprintf(`
listeners:
- {name: all, spec: {protocol: TCP, port: $ALL, address: 127.0.0.1, tls: {certificate: %[1]s/cert.pem, key: %[1]s/key.pem, %[2]s}}, rules: to}
- {name: only, spec: {protocol: TCP, port: $ONLY, address: 127.0.0.1, tls: {%[2]s}}, rules: to}
rulelists: [{name: to, rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]}]
`, dirs["other.example"], hosts), "ALL", "ONLY")
	for _, c := range []struct{ asked, all, only string }{
		{"a.example", "a.example", "a.example"}, {"A2.EXAMPLE", "a.example", "a.example"}, {"b.example", "b.example", "b.example"},
		{"c.example", "other.example", ""}, {"", "other.example", ""}, {"gone.example", "", ""},
	} {
		for listener, want := range map[string]string{"ALL": c.all, "ONLY": c.only} {
			got := ""
			secure, err := tls.Dial("tcp", at[listener], &tls.Config{ServerName: c.asked, InsecureSkipVerify: true})
			if err == nil {
				got = secure.ConnectionState().PeerCertificates[0].Subject.CommonName
				_ = secure.Close()
			}
			if got != want {
				t.Errorf("listener %s, server name %q: got the certificate of %q, want %q", listener, c.asked, got, want)
			}
		}
	}
}

// The certificates of both sides must have a name that the other one expects.
func TestPeerNames(t *testing.T) {
	dir := t.TempDir()
	writeCertificate(t, dir, "a.example")
	for _, c := range []struct {
		server, client string
		ok             bool
	}{
		{"[a.example]", "[b.example, a.*]", true}, {"[b.example]", "[a.example]", false}, {"[a.example]", "[b*]", false},
		{"['spiffe://mesh.example/ns/shop/sa/a.example']", "['spiffe://mesh.example/ns/shop/*']", true},
		{"['spiffe://mesh.example/ns/other/*']", "[a.example]", false},
		{"[a.example]", "['spiffe://mesh.example/ns/shop/sa/a']", false},
	} {
		text := strings.NewReplacer("DIR", dir, "SERVER", c.server, "CLIENT", c.client).Replace(`
listeners:
- name: outer
  spec: {protocol: TCP, port: $OUTER, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: TCP, port: $IN, tls: {ca: DIR/cert.pem, certificate: DIR/cert.pem, key: DIR/key.pem, peers: SERVER}}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]
- name: in
  spec: {protocol: TCP, port: $IN, address: 127.0.0.1, tls: {certificate: DIR/cert.pem, key: DIR/key.pem, client_ca: DIR/cert.pem, peers: CLIENT}}
  rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]
`)
		conn := dial(t, "tcp", start(t, text, "OUTER", "IN")["OUTER"])
		_, _ = io.WriteString(conn, "hello")
		_ = conn.(*net.TCPConn).CloseWrite()
		if got, _ := io.ReadAll(conn); (string(got) == "hello") != c.ok {
			t.Errorf("server %s, client %s: got %q", c.server, c.client, got)
		}
	}
}
