package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const edgeURL = "https://edge.colors.svc:8443"

// edgeNames are the names of the certificate that the gateway and the service with mutual TLS share.
var edgeNames = []string{"edge.colors.svc", "mutual.colors.svc.cluster.local"}

// TestGateway checks a VirtualGateway from outside the mesh: routes of each kind, TLS on both of its sides with
// certificates in files that change, edits of its routes and restarts of its pods. No request may fail.
func TestGateway(t *testing.T) {
	ca := newAuthority(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "edge-tls"}, Data: ca.serving(t, edgeNames...)}
	secrets := lab.kube.CoreV1().Secrets("colors")
	if _, err := secrets.Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = secrets.Delete(contextOf(t), "edge-tls", metav1.DeleteOptions{}) })
	apply(t, gatewayManifests)
	trust := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "trust"}, Data: map[string]string{"ca.crt": string(ca.certificate)},
	}
	if _, err := lab.kube.CoreV1().ConfigMaps("clients").Create(t.Context(), trust, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(t, gatewayRoutes()+"---"+mutualManifests)
	waitReady(t, "colors", "deployment/edge")
	waitReady(t, "colors", "deployment/mutual")
	waitReady(t, "clients", "deployment/client")
	stopsPassing := gatewayHealth(t)

	for name, c := range map[string]struct{ host, kind, path, version, newPath, newHost string }{
		"prefix":  {"", "", "/color/a?b=c", "red or blue", "/a?b=c", "color.colors.svc.cluster.local"},
		"exact":   {"", "", "/sum", "tally", "/total", "tally.colors.svc.cluster.local"},
		"regex":   {"", "", "/123", "tally", "/123", "tally.colors.svc.cluster.local"},
		"host":    {"tally.example", "", "/x", "tally", "/x", "tally.example"},
		"suffix":  {"my.color.example", "", "/y", "red or blue", "/y", "color.colors.svc.cluster.local"},
		"header":  {"", "tally", "/z", "tally", "/by-header/z", "tally.colors.svc.cluster.local"},
		"query":   {"", "", "/any/q?shade=dark", "red or blue", "/any/q?shade=dark", "color.colors.svc.cluster.local"},
		"mutual":  {"", "", "/mutual", "mutual", "/", "mutual.colors"},
		"nothing": {"", "", "/any/q", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, 20*time.Second, c.path, func() error {
				o, err := callWith(t, edgeURL+c.path, map[string]string{"Host": c.host, "Kind": c.kind})
				var said struct{ Path, Host string }
				_ = json.Unmarshal([]byte(o.Body), &said)
				if c.version == "" {
					return want(o, err, o.Status == 404, "404")
				}
				return want(o, err, o.Version != "" && strings.Contains(c.version, o.Version) && said.Path == c.newPath &&
					said.Host == c.newHost, c.version+" with path "+c.newPath+" and host "+c.newHost)
			})
		})
	}
	t.Run("without TLS", func(t *testing.T) {
		o, err := callWith(t, strings.Replace(edgeURL, "https:", "http:", 1)+"/color", nil)
		if err := want(o, err, o.Error != "", "a closed connection"); err != nil {
			t.Error(err)
		}
	})
	calls := steadyCalls{
		"clients", "client", []string{edgeURL + "/color", edgeURL + "/mutual"}, []string{"red", "blue", "tally", "mutual"},
	}
	t.Run("edits", func(t *testing.T) { calls.during(t, func() { editGatewayRoutes(t) }) })
	t.Run("health check fails", stopsPassing)
	t.Run("new certificate", func(t *testing.T) {
		calls.during(t, func() {
			secret.Data = ca.serving(t, edgeNames...)
			if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			for app, port := range map[string]int{"edge": 8443, "mutual": 8085} {
				run(t, "-n", "colors", "annotate", "pod", "-l", "app="+app, "rotated=true") // the kubelet syncs the Secret
				for ip := range strings.FieldsSeq(run(t, "-n", "colors", "get", "pods", "-l", "app="+app, "-o",
					"jsonpath={.items[*].status.podIP}")) {
					eventually(t, 2*time.Minute, "the new certificate", func() error { return serves(t, ip, port, secret) })
				}
			}
		})
	})
	t.Run("restart", func(t *testing.T) {
		calls.during(t, func() {
			old := strings.Fields(run(t, "-n", "colors", "get", "pods", "-l", "app=edge", "-o", "name"))
			run(t, "-n", "colors", "rollout", "restart", "deployment/edge")
			waitReady(t, "colors", "deployment/edge")
			run(t, append([]string{"-n", "colors", "wait", "--for=delete", "--timeout=180s"}, old...)...)
		})
	})
	t.Run("health check passes", func(t *testing.T) { waitReady(t, "colors", "deployment/checked-edge") })
}

// gatewayHealth creates a gateway whose pods are ready while its listener passes its health check, and waits until they
// are. Then it removes the route that answers the check. The returned function waits until the pods are not ready, and
// restores the route.
func gatewayHealth(t *testing.T) (stopsPassing func(t *testing.T)) {
	t.Helper()
	apply(t, checkedGatewayManifests)
	waitReady(t, "colors", "deployment/checked-edge")
	routes := appMesh(t, "gatewayroutes", "colors")
	setPath := func(path string) {
		t.Helper()
		patch := fmt.Sprintf(`{"spec":{"httpRoute":{"match":{"path":{"exact":%q}}}}}`, path)
		if _, err := routes.Patch(t.Context(), "checked-edge", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	setPath("/elsewhere")
	return func(t *testing.T) {
		run(t, "-n", "colors", "wait", "--for=condition=Ready=False", "--timeout=180s", "pod", "-l", "app=checked-edge")
		pod := strings.TrimSpace(run(t, "-n", "colors", "get", "pods", "-l", "app=checked-edge", "-o",
			"jsonpath={.items[0].metadata.name}"))
		said, err := lab.kube.CoreV1().RESTClient().Get().Namespace("colors").Resource("pods").Name(pod + ":15020").
			SubResource("proxy").Suffix("ready").DoRaw(t.Context())
		if err == nil || !strings.Contains(string(said), "listeners of the proxy fail their health check") {
			t.Errorf("the agent does not say why the pod is not ready: %q %v", said, err)
		}
		config, err := anymesh(t.Context(), "proxy", "config", "checked-edge", "--kubeconfig", lab.kubeconfig, "-n", "colors")
		if err != nil || !strings.Contains(config, "cds_ingress_colors_checked-edge_colors_readiness_http_8090") {
			t.Errorf("the configuration has no cluster for the check: %v\n%s", err, config)
		}
		setPath("/ping")
	}
}

// editGatewayRoutes changes the routes a hundred times: targets, conditions, new routes and deleted ones.
func editGatewayRoutes(t *testing.T) {
	t.Helper()
	routes := appMesh(t, "gatewayroutes", "colors")
	const edits, burst = 100, 10
	for n := range edits {
		target := []string{"color", "tally"}[n%2]
		patch := fmt.Sprintf(`{"spec":{"priority":%d,"httpRoute":{"match":{"prefix":"/color","headers":%s},`+
			`"action":{"target":{"virtualService":{"virtualServiceRef":{"name":%q}}}}}}}`, n%5,
			[]string{`null`, `[{"name":"absent","invert":true}]`}[n%3/2], target)
		edited, err := routes.Patch(t.Context(), "prefix", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		if err != nil {
			t.Fatalf("edit %d: %v", n, err)
		}
		if n%burst != burst-1 {
			continue
		}
		eventually(t, 10*time.Second, fmt.Sprintf("edit %d is served", n), func() error {
			return checkServed(t, routes, "prefix", edited.GetGeneration())
		})
		if err := routes.Delete(t.Context(), "regex", metav1.DeleteOptions{}); n == burst-1 && err != nil {
			t.Fatal(err)
		}
	}
}

// callWith makes the client outside the mesh call a URL with headers. Empty ones are not sent.
func callWith(t *testing.T, target string, headers map[string]string) (outcome, error) {
	t.Helper()
	request := lab.kube.CoreV1().RESTClient().Get().Namespace("clients").Resource("services").Name("client:8080").
		SubResource("proxy").Suffix("call").Param("url", target)
	for name, value := range headers {
		if value != "" {
			request.SetHeader("X-Call-"+name, value)
		}
	}
	var o outcome
	raw, err := request.DoRaw(t.Context())
	if err != nil {
		return o, fmt.Errorf("calling %s: %w", target, err)
	}
	return o, json.Unmarshal(raw, &o)
}

// authority issues certificates.
type authority struct {
	certificate []byte // PEM
	parsed      *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "e2e"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), parsed, key}
}

// serving returns the data of a Secret with a new certificate for the names.
func (a *authority) serving(t *testing.T, names ...string) map[string][]byte {
	t.Helper()
	data := issue(t, names, a.parsed, a.key)
	data["ca.crt"] = a.certificate
	return data
}
