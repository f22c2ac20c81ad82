package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"anymesh.dev/anymesh/test/freeport"
)

// acmeManifests are an issuer with an ACME server, SERVER with the authority AUTHORITY, and an Ingress and a Route that
// get their certificates from it. Neither host has a certificate before its challenge.
const acmeManifests = `
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {namespace: apps, name: acme}
spec:
  acme:
    server: SERVER
    caBundle: AUTHORITY
    email: team@example.com
    privateKeySecretRef: {name: acme-account}
    solvers: [{http01: {ingress: {ingressClassName: anymesh, serviceType: ClusterIP}}}]
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: apps, name: by-ingress, annotations: {cert-manager.io/issuer: acme}}
spec:
  ingressClassName: anymesh
  tls: [{hosts: [ingress.acme.example], secretName: by-ingress}]
  rules:
    - host: ingress.acme.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: front, port: {number: 80}}}}]}
---
apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {namespace: apps, name: by-route}
spec:
  host: route.acme.example
  tls: {issuerName: acme}
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
---
{apiVersion: v1, kind: Service, metadata: {namespace: apps, name: front}, spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}}
`

// publicAddress is the address of the gateway for the ACME server and for cert-manager, which connect to port 80.
const publicAddress = "127.0.80.1"

// TestCertificatesByHTTP01 gets the certificates of an Ingress and of a Route from a real ACME server by the real
// cert-manager: the challenges pass through the gateway, which has no certificate for the hosts yet.
func TestCertificatesByHTTP01(t *testing.T) {
	enableGateway(t)
	installCertManager(t)
	apply(t, routeManifests)
	waitReady(t, "apps", "deployment/web")
	gateway := forwardGateway(t, nil)
	names := serveNames(t)
	publish(t, gateway)
	ca := newAuthority(t)
	server := runPebble(t, ca, names)
	runCertManager(t, "--solver-image", solverImage, "--nameservers", names)
	apply(t, strings.NewReplacer("SERVER", server.directory, "AUTHORITY", base64.StdEncoding.EncodeToString(ca.certificate)).
		Replace(acmeManifests))
	t.Cleanup(func() {
		if t.Failed() {
			state, _ := kubectl(contextOf(t), "-n", "apps", "get", "issuers,certificates,orders,challenges,ingresses,pods", "-o", "wide")
			events, _ := kubectl(contextOf(t), "-n", "apps", "get", "events")
			t.Logf("%s\n%s", state, events)
		}
	})
	for _, host := range []string{"ingress.acme.example", "route.acme.example"} {
		eventually(t, time.Minute, "a certificate of the ACME server for "+host, func() error {
			return server.secures(t, gateway, host)
		})
		r, err := gateway.get(t, "http://"+host+"/")
		if err := wantResponse(r, err, r.Status == 308, "a redirect to HTTPS"); err != nil {
			t.Error(err)
		}
	}
}

// pebble is a running ACME server.
type pebble struct {
	// directory and roots are URLs: of the ACME directory, and of the certificate of the authority.
	directory, roots string
	http.Client
}

// runPebble starts an ACME server with a certificate of an authority. It asks a DNS server for the hosts of challenges.
func runPebble(t *testing.T, ca *authority, nameserver string) *pebble {
	t.Helper()
	folder := t.TempDir()
	serving := ca.serving(t, "localhost")
	port, management := freeport.Port(t), freeport.Port(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": fmt.Sprintf("127.0.0.1:%d", port), "managementListenAddress": fmt.Sprintf("127.0.0.1:%d", management),
		"certificate": filepath.Join(folder, "tls.crt"), "privateKey": filepath.Join(folder, "tls.key"),
		"httpPort": 80, "tlsPort": 443,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"tls.crt": serving["tls.crt"], "tls.key": serving["tls.key"], "config.json": config,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(filepath.Join(lab.bin, "pebble"), "-config",
		filepath.Join(folder, "config.json"), "-dnsserver", nameserver)
	command.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	runProgram(t, command)
	pool := x509.NewCertPool()
	pool.AddCert(ca.parsed)
	return &pebble{
		fmt.Sprintf("https://localhost:%d/dir", port), fmt.Sprintf("https://localhost:%d/roots/0", management),
		http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}},
	}
}

// secures returns nil if the gateway serves a host with a certificate of the ACME server.
func (p *pebble) secures(t *testing.T, gateway *forwarded, host string) error {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.roots, nil)
	if err != nil {
		return err
	}
	r, err := p.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = r.Body.Close() }()
	root, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(root) {
		return fmt.Errorf("%s returns %s", p.roots, root)
	}
	gateway.Transport.(*http.Transport).TLSClientConfig.RootCAs = pool
	got, err := gateway.get(t, "https://"+host+"/")
	return wantResponse(got, err, got.Status == 200 && got.Version == "web", "a response of web")
}

// serveNames runs a DNS server that answers each name with publicAddress, over UDP and TCP, and returns its address.
func serveNames(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	answer := dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		reply := new(dns.Msg).SetReply(question)
		if q := question.Question[0]; q.Qtype == dns.TypeA {
			reply.Answer = []dns.RR{&dns.A{
				Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET, Ttl: 1}, A: net.ParseIP(publicAddress),
			}}
		}
		_ = w.WriteMsg(reply)
	})
	for _, server := range []*dns.Server{{Listener: listener, Handler: answer}, {PacketConn: packets, Handler: answer}} {
		go func() { _ = server.ActivateAndServe() }()
		t.Cleanup(func() { _ = server.Shutdown() })
	}
	return listener.Addr().String()
}

// publish accepts connections to port 80 of publicAddress and forwards them to the gateway.
func publish(t *testing.T, gateway *forwarded) {
	t.Helper()
	listener, err := net.Listen("tcp", publicAddress+":80")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = from.Close() }()
				to, err := gateway.dial(context.Background(), "tcp", "80")
				if err != nil {
					return
				}
				defer func() { _ = to.Close() }()
				go func() { _, _ = io.Copy(to, from) }()
				_, _ = io.Copy(from, to)
			}()
		}
	}()
}

// runProgram runs a program until the test ends, and logs the end of its output if the test failed.
func runProgram(t *testing.T, command *exec.Cmd) {
	t.Helper()
	if _, err := os.Stat(command.Path); err != nil {
		t.Fatalf("bin/%[1]s is missing; run make bin/%[1]s: %[2]v", filepath.Base(command.Path), err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("%s:\n%s", filepath.Base(command.Path), text[max(0, len(text)-4000):])
		}
	})
}
