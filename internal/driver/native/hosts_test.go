package native_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/freeport"
)

// A gateway has a certificate for each host, and sends the requests of clients to the service that the host names. A
// client that asks for another name gets no connection.
func TestCertificatesOfHosts(t *testing.T) {
	port := freeport.Port(t)
	tlsOf := &model.ServerTLS{Mode: model.TLSStrict}
	var services []model.Binding
	for _, host := range []string{"a.example", "b.example"} {
		dir := t.TempDir()
		writeCertificate(t, dir, host)
		tlsOf.Hosts = append(tlsOf.Hosts, model.HostCertificate{Hosts: []string{host}, Certificate: model.Certificate{
			ChainFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		}})
		services = append(services, model.Binding{
			Service: host, Protocol: model.HTTP, Hosts: []string{host}, External: true,
			Routes: []model.Route{{Name: "r", Protocol: model.HTTP, Action: model.Action{
				Redirect: &model.Redirect{Scheme: "https", Host: "to." + host, StatusCode: 308},
			}}},
		})
	}
	c, findings := configurationOf(t, &model.View{
		Workload: model.Workload{Role: model.RoleGateway},
		Inbound:  []model.Inbound{{Listener: model.Listener{Port: uint16(port), Protocol: model.HTTP, TLS: tlsOf}}},
		OutboundView: model.OutboundView{
			Gateway: true, ListenerPorts: []uint16{uint16(port)},
			Outbound: []model.Outbound{{Port: uint16(port), Bindings: services}},
		},
	}, func(model.Key) (model.ResolvedDestination, bool) { return model.ResolvedDestination{}, false })
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	if err := proxy.New(t.Context(), slog.New(slog.NewTextHandler(t.Output(), nil))).Replace(c); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a.example", "b.example", "c.example"} {
		client := &http.Client{
			Transport:     &http.Transport{TLSClientConfig: &tls.Config{ServerName: host, InsecureSkipVerify: true}},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("https://127.0.0.1:%d/", port), nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = fmt.Sprintf("%s:%d", host, port)
		response, err := client.Do(request)
		if host == "c.example" {
			if err == nil {
				t.Errorf("%s: got a connection", host)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		name := response.TLS.PeerCertificates[0].DNSNames[0]
		if to := response.Header.Get("Location"); name != host || to != "https://to."+host+"/" {
			t.Errorf("%s: got the certificate of %s, and %d to %s", host, name, response.StatusCode, to)
		}
	}
}

// writeCertificate writes a certificate of a host, and its key.
func writeCertificate(t *testing.T, dir, host string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{
		"tls.crt": {Type: "CERTIFICATE", Bytes: certificate}, "tls.key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
