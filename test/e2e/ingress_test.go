package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ingressManifests are an application outside any mesh with an Ingress.
const ingressManifests = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: app
          image: anymesh.dev/colors
          args: [serve, --version=web, --listen=:8080]
          ports: [{containerPort: 8080}]
          readinessProbe: {httpGet: {path: /ping, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: web, annotations: {anymesh.dev/rewrite-prefix: /inner, anymesh.dev/request-headers: '{"X-Tenant":"blue"}'}}
spec:
  ingressClassName: anymesh
  tls: [{hosts: [shop.example], secretName: web-tls}]
  rules:
    - host: shop.example
      http: {paths: [{path: /api, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

// TestIngress checks an Ingress of the gateway: TLS with the certificate of a Secret, which is replaced, a redirect to
// HTTPS, paths and headers. The gateway has its address in the status.
func TestIngress(t *testing.T) {
	enableGateway(t)
	t.Cleanup(func() {
		if t.Failed() {
			logs, _ := kubectl(contextOf(t), "-n", "anymesh-gateway", "logs", "deployment/anymesh-gateway", "--tail=20")
			config, _ := anymesh(contextOf(t), "proxy", "config", "ingress/gateway", "--kubeconfig", lab.kubeconfig)
			t.Logf("gateway:\n%s\n%s", logs, config)
		}
	})
	apply(t, ingressManifests)
	ca := newAuthority(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "web-tls"}, Data: ca.serving(t, "shop.example")}
	if _, err := lab.kube.CoreV1().Secrets("shop").Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitReady(t, "shop", "deployment/web")
	g := forwardGateway(t, ca.certificate)

	eventually(t, 30*time.Second, "a response over HTTPS", func() error {
		r, err := g.get(t, "https://shop.example/api/x?y=1")
		return wantResponse(r, err, r.Status == 200 && r.Path == "/inner/x?y=1" && r.Host == "shop.example" &&
			r.Header.Get("X-Tenant") == "blue", "status 200 with path /inner/x?y=1")
	})
	r, err := g.get(t, "https://shop.example/apis")
	if err := wantResponse(r, err, r.Status == 404, "status 404"); err != nil {
		t.Error(err)
	}
	r, err = g.get(t, "http://shop.example/api/x?y=1")
	if err := wantResponse(r, err, r.Status == 308 && r.Location == "https://shop.example/api/x?y=1", "a redirect"); err != nil {
		t.Error(err)
	}
	if _, err = g.get(t, "https://other.example/"); err == nil {
		t.Error("a handshake for a host without certificate succeeds")
	}
	first, err := g.get(t, "https://shop.example/api")
	if err != nil {
		t.Fatal(err)
	}
	secret.Data = ca.serving(t, "shop.example")
	if _, err := lab.kube.CoreV1().Secrets("shop").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Second, "the new certificate", func() error {
		r, err := g.get(t, "https://shop.example/api")
		return wantResponse(r, err, r.Status == 200 && r.Serial != first.Serial, "another certificate than "+first.Serial)
	})
	eventually(t, 10*time.Second, "the address in the status", func() error {
		address := run(t, "-n", "shop", "get", "ingress", "web", "-o", "jsonpath={.status.loadBalancer.ingress[0].ip}")
		want := run(t, "-n", "anymesh-gateway", "get", "service", "anymesh-gateway", "-o", "jsonpath={.spec.clusterIP}")
		if address != want {
			return fmt.Errorf("address %q, want %q", address, want)
		}
		return nil
	})
	brokenSecrets(t, ca, g)
}

// enableGateway installs the gateway of Ingresses once.
func enableGateway(t *testing.T) {
	t.Helper()
	if err := installAnymesh(t.Context(), "--set", "ingress.enabled=true", "--set", "ingress.service.type=ClusterIP",
		"--set", "ingress.gatewayAPI.enabled=true", "--set", "routeTrait.enabled=true"); err != nil {
		t.Fatal(err)
	}
	waitReady(t, "anymesh-gateway", "deployment/anymesh-gateway")
}

// forwarded is a client of the gateway outside the cluster, by "kubectl port-forward".
type forwarded struct {
	http.Client
	mu   sync.Mutex
	stop func()
	// local are the local addresses of the ports.
	local map[string]string
}

// response is what the gateway and the application responded.
type response struct {
	Status     int
	Location   string
	Host, Path string
	Version    string
	Header     http.Header `json:"header"`
	// Serial is the serial number of the certificate of the gateway, empty without TLS.
	Serial string
}

// forwardGateway returns a client of the gateway. Certificates must be of the authority.
func forwardGateway(t *testing.T, authority []byte) *forwarded {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	g := &forwarded{stop: func() {}}
	g.Client = http.Client{
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				_, port, err := net.SplitHostPort(address)
				if err != nil {
					return nil, err
				}
				return g.dial(ctx, network, port)
			},
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			DisableKeepAlives: true,
		},
		Timeout:       20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() { g.stop() })
	return g
}

// dial connects to a port. kubectl ends when a connection to the pod fails, and is started again.
func (g *forwarded) dial(ctx context.Context, network, port string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if c, err := (&net.Dialer{}).DialContext(ctx, network, g.local[port]); err == nil {
		return c, nil
	}
	g.stop()
	if err := g.start(); err != nil {
		return nil, err
	}
	return (&net.Dialer{}).DialContext(ctx, network, g.local[port])
}

// start starts kubectl.
func (g *forwarded) start() error {
	ctx, cancel := context.WithCancel(context.Background())
	c := exec.CommandContext(ctx, filepath.Join(lab.bin, "anymesh"), "sandbox", "kubectl", "--name", lab.name, "--",
		"-n", "anymesh-gateway", "port-forward", "service/anymesh-gateway", ":80", ":443")
	out, err := c.StdoutPipe()
	if err != nil {
		cancel()
		return err
	}
	if err := c.Start(); err != nil {
		cancel()
		return err
	}
	g.stop = func() {
		cancel()
		_ = c.Wait() // killed
	}
	g.local = map[string]string{}
	for lines := bufio.NewScanner(out); len(g.local) < 2 && lines.Scan(); {
		var from, to string
		n, _ := fmt.Sscanf(lines.Text(), "Forwarding from %s -> %s", &from, &to)
		if port := map[string]string{"8080": "80", "8443": "443"}[to]; n == 2 && strings.HasPrefix(from, "127.") {
			g.local[port] = from
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return nil
}

// get makes a request.
func (g *forwarded) get(t *testing.T, url string) (response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := g.Do(request)
	if err != nil {
		return response{}, err
	}
	defer func() { _ = r.Body.Close() }()
	out := response{Status: r.StatusCode, Location: r.Header.Get("Location")}
	if r.TLS != nil {
		out.Serial = r.TLS.PeerCertificates[0].SerialNumber.String()
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return out, err
	}
	_ = json.Unmarshal(body, &out) // responses of the gateway itself are not JSON
	return out, nil
}

func wantResponse(r response, err error, ok bool, wish string) error {
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("want %s, got %+v", wish, r)
	}
	return nil
}
