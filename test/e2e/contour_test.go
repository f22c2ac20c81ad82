package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/trait/certificate"
	"anymesh.dev/anymesh/internal/trait/contour"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// contourRoute has a rule for each kind of path that the real Contour has to match, rewrite or pass on.
var contourRoute = provider.Route{
	Namespace: "shop", Name: "web", Host: "shop.example.com", TLS: &provider.TLS{Secret: "web-cert"},
	Rules: []provider.Rule{
		{Name: "root", Path: "/", Backend: provider.Backend{Service: "web", Port: 80}},
		{Name: "plain", Path: "/plain", Backend: provider.Backend{Service: "api", Port: 8080}},
		{
			Name: "api", Path: "/api", RewriteTarget: "/v1", Backend: provider.Backend{Service: "api", Port: 8080},
			Headers: []provider.Header{{Name: "X-Tenant", Value: "blue 50%"}},
		},
		{
			Name: "old", Path: "/old/", RewriteTarget: "/", Backend: provider.Backend{Service: "api", Port: 8080},
			ReadTimeout: 2 * time.Second,
		},
	},
}

// TestContour serves a Route by the real Contour, with a certificate of the built-in authority.
func TestContour(t *testing.T) {
	if _, err := os.Stat(filepath.Join(lab.bin, "contour")); err != nil {
		t.Fatal("bin/contour is missing; run make bin/contour: ", err)
	}
	apply(t, readManifests(t, filepath.Join(moduleDir(t, "../contour", "github.com/projectcontour/contour"),
		"examples/contour")))
	apply(t, shopManifests)
	apply(t, contourManifests)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for _, name := range []string{"contour", "envoy"} {
			log, _ := kubectl(contextOf(t), "-n", "projectcontour", "logs", "deployment/"+name, "--tail=20")
			t.Logf("%s:\n%s", name, log)
		}
	})
	reader, p := newClusterReader(t), contour.Provider{}
	eventually(t, 30*time.Second, "the kind HTTPProxy", func() error {
		if !p.Present(reader) {
			return fmt.Errorf("the cluster does not have it")
		}
		return nil
	})
	apply(t, manifestsOf(t, p.Render(contourRoute, reader).Objects))
	waitReady(t, "projectcontour", "deployment/contour")
	waitReady(t, "projectcontour", "deployment/envoy")
	waitReady(t, "shop", "deployment/web")
	waitReady(t, "shop", "deployment/api")
	waitState(t, reader, p, contourRoute, "NotValid", "web-cert")
	ca := issueSecret(t, certificate.Request{Namespace: "shop", Route: "web", Host: "shop.example.com"})
	waitState(t, reader, p, contourRoute, "", "192.0.2.1")

	service, err := lab.kube.CoreV1().Services("projectcontour").Get(t.Context(), "envoy", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(target string) (answer, error) { return curl(t, service.Spec.ClusterIP, ca, target) }
	for path, want := range map[string][2]string{
		"/":            {"web", "/"},
		"/x?q=1":       {"web", "/x?q=1"},
		"/plain":       {"api", "/plain"},
		"/plain/":      {"api", "/plain/"},
		"/plain/a?q=1": {"api", "/plain/a?q=1"},
		"/plainer":     {"web", "/plainer"},
		"/api":         {"api", "/v1"},
		"/api?q=1":     {"api", "/v1?q=1"},
		"/api/":        {"api", "/v1/"},
		"/api/a?q=/b":  {"api", "/v1/a?q=/b"},
		"/apis":        {"web", "/apis"},
		"/old":         {"api", "/"},
		"/old/":        {"api", "/"},
		"/old/a/b":     {"api", "/a/b"},
		"/older/a":     {"web", "/older/a"},
	} {
		eventually(t, 20*time.Second, path, func() error {
			a, err := call("https://shop.example.com" + path)
			if err != nil {
				return err
			}
			if a.Version != want[0] || a.Path != want[1] {
				return fmt.Errorf("got %+v, want %v", a, want)
			}
			if tenant := a.Header.Get("X-Tenant"); (tenant == "blue 50%") != strings.HasPrefix(a.Path, "/v1") {
				return fmt.Errorf("the backend sees the tenant %q", tenant)
			}
			return nil
		})
	}
	if a, err := call("http://shop.example.com/x"); err != nil || a.Status != http.StatusMovedPermanently {
		t.Errorf("plain HTTP: %+v, %v", a, err)
	}
	if a, err := call("https://shop.example.com/old/delay/1600ms"); err != nil || a.Status != http.StatusOK {
		t.Errorf("a pause of 0.8 times the read timeout: %+v, %v", a, err)
	}
	if a, err := call("https://shop.example.com/old/delay/2400ms"); err != nil || a.Status < 400 {
		t.Errorf("a pause of 1.2 times the read timeout: %+v, %v", a, err)
	}
	if a, err := call("https://shop.example.com/delay/2400ms"); err != nil || a.Status != http.StatusOK {
		t.Errorf("a pause without read timeout: %+v, %v", a, err)
	}
}

// waitState waits until a provider reports a state: a reason with a text in its message, or, without a reason, that the
// objects are served at an address.
func waitState(t *testing.T, reader provider.Reader, p provider.Provider, route provider.Route, reason, text string) {
	t.Helper()
	eventually(t, 60*time.Second, "state "+reason, func() error {
		state := p.State(route, reader)
		switch {
		case state.Waiting == nil && reason == "" && slices.Contains(state.Addresses, text):
			return nil
		case state.Waiting != nil && state.Waiting.Reason == reason && strings.Contains(state.Waiting.Message, text):
			return nil
		case state.Waiting != nil:
			return fmt.Errorf("%s: %s", state.Waiting.Reason, state.Waiting.Message)
		}
		return fmt.Errorf("served at %v", state.Addresses)
	})
}

// newIssuer returns the built-in authority of the cluster, and an owner for the Secrets in the namespace shop.
func newIssuer(t *testing.T) (certificate.Authority, metav1.OwnerReference) {
	t.Helper()
	store, err := certificate.OpenStore(t.Context(), lab.kube, "shop", "cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	owner, err := lab.kube.CoreV1().ConfigMaps("shop").Get(t.Context(), "owner", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return certificate.Authority{CA: store, Client: lab.kube}, metav1.OwnerReference{
		APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID,
	}
}

// issueSecret makes the built-in authority write a Secret, and returns the path of a file with its roots.
func issueSecret(t *testing.T, r certificate.Request) string {
	t.Helper()
	authority, owner := newIssuer(t)
	if wrote, err := authority.Issue(t.Context(), r, owner); err != nil || !wrote {
		t.Fatalf("wrote %t, %v", wrote, err)
	}
	secret, err := lab.kube.CoreV1().Secrets(r.Namespace).Get(t.Context(), r.Secret(), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, secret.Data["ca.crt"], 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// answer is what a backend says of a request.
type answer struct {
	Status        int
	Version, Path string
	Header        http.Header
}

// curl calls a URL of shop.example.com at an address, from the node, and sends the header X-Tenant.
func curl(t *testing.T, address, ca, target string) (answer, error) {
	t.Helper()
	const host = "shop.example.com"
	out, err := onNode(t.Context(), "curl", "-sS", "--max-time", "5", "--cacert", ca, "-H", "X-Tenant: red",
		"--resolve", host+":80:"+address, "--resolve", host+":443:"+address, "-w", "\n%{http_code}", target)
	if err != nil {
		return answer{}, err
	}
	body, code, _ := cutLast(strings.TrimSpace(out), "\n")
	var a answer
	_ = json.Unmarshal([]byte(body), &a)
	_, err = fmt.Sscan(code, &a.Status)
	return a, err
}

// cutLast cuts a text at the last separator. Without one, all of it is after.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return "", text, false
}
