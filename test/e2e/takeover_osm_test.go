package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const bookstoreURL = "http://bookstore.books/"

// TestTakeOverFromOSM runs the commands of docs/from-osm.md on a namespace of Open Service Mesh, under load. Its
// sidecars are Envoys that the manifests of this test inject and configure, as OSM does: with mutual TLS of an
// authority of their own. The test also does what the controller of OSM does for an IngressBackend. No call that the
// policy allows fails.
func TestTakeOverFromOSM(t *testing.T) {
	onlyLong(t) // it has a cluster of its own, and sidecars of OSM lose calls beside two other clusters
	m := newMigrationCluster(t)
	shared := lab
	lab.name, lab.kubeconfig, lab.kube = m.name, m.kubeconfig, m.kube
	t.Cleanup(func() { lab = shared })
	run(t, "apply", "--server-side", "-f", filepath.Join(root, "api/crds"))
	waitEstablished(t, "--all")
	setUpOSM(t)
	pods := podRange(t)
	page := commandsOf(t, "from-osm", "Without downtime")
	const steps = 6
	if len(page) != steps {
		t.Fatalf("the page has %d steps", len(page))
	}
	step := func(i int) {
		m.runCommands([]string{"export NAMESPACE=books SERVICE=bookstore PORT=9080 SERVICE_PORT=80 CLIENT=bookbuyer PODS=" +
			pods.String() + "\n" + page[i]})
	}
	expect := func(namespace, client, what string, ok func(outcome) bool) {
		t.Helper()
		eventually(t, 20*time.Second, client+" "+what, func() error {
			o, err := callFromIn(t.Context(), namespace, client, bookstoreURL)
			return want(o, err, ok(o), what)
		})
	}
	served := func(o outcome) bool { return o.Version == "v1" }
	refused := func(o outcome) bool { return o.Status != 200 }
	expect("books", "bookbuyer", "is served", served)
	expect("books", "bookthief", "is refused", func(o outcome) bool { return o.Status == 403 })
	expect("outside", "client", "is refused", refused)
	through := "http://bookbuyer.books:8080/call?url=" + url.QueryEscape(bookstoreURL)
	steadyCalls{"outside", "client", []string{through}, []string{"v1"}}.during(t, func() {
		step(0)
		step(1)
		configureOSM(t, "bookstore", 9080, osmListenersOf(strings.NewReplacer("PREFIX", pods.Addr().String(), "LENGTH",
			fmt.Sprint(pods.Bits())).Replace(osmIngressChain)))
		run(t, "-n", "books", "annotate", "pod", "-l", "app=bookstore", "updated=true") // the kubelet updates its volumes
		expect("outside", "client", "is served", served)
		step(2)
		step(3)
		wantSidecars(t)
		step(4)
		step(5)
		expect("outside", "client", "is refused", refused)
		expect("books", "bookthief", "is refused", func(o outcome) bool { return o.Status == 403 })
	})
	wantOutput(t, []string{"TrafficTarget books/bookstore"}, "explain", "--from", "books/bookbuyer", bookstoreURL)
}

// setUpOSM creates the authority, the injector and the applications.
func setUpOSM(t *testing.T) {
	t.Helper()
	apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: osm-system}}")
	apply(t, osmInjector)
	apply(t, "{apiVersion: v1, kind: Namespace, metadata: {name: books}}")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "osm-ca.openservicemesh.io"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, authority, authority, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret(t, "osm-system", "osm-ca-bundle", map[string][]byte{"ca.crt": bundle})
	for account, port := range map[string]int{"bookstore": 9080, "bookbuyer": 8080, "bookthief": 8080} {
		data := issue(t, []string{account + ".books.cluster.local"}, authority, key)
		data["ca.crt"] = bundle
		secret(t, "books", osmConfiguration(account), data)
		configureOSM(t, account, port, osmListenersOf(""))
	}
	apply(t, takenOver)
	for _, name := range []string{"bookstore", "bookbuyer", "bookthief"} {
		waitReady(t, "books", "deployment/"+name)
	}
	waitReady(t, "outside", "deployment/client")
	for _, pod := range podsOf(t, "books", "") {
		if last := pod.Spec.Containers[len(pod.Spec.Containers)-1]; last.Name != "envoy" {
			t.Fatalf("pod %s has no sidecar of OSM", pod.Name)
		}
	}
}

func osmConfiguration(account string) string { return "envoy-bootstrap-config-" + account }

func secret(t *testing.T, namespace, name string, data map[string][]byte) {
	t.Helper()
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := lab.kube.CoreV1().Secrets(namespace).Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// configureOSM sets the configuration of the sidecars of an account.
func configureOSM(t *testing.T, account string, port int, listeners string) {
	t.Helper()
	secrets := lab.kube.CoreV1().Secrets("books")
	s, err := secrets.Get(t.Context(), osmConfiguration(account), metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Data["bootstrap.yaml"] = []byte(strings.NewReplacer("ACCOUNT", account, "APPPORT", fmt.Sprint(port)).Replace(osmBootstrap))
	s.Data["lds.yaml"] = []byte(listeners)
	if _, err := secrets.Update(t.Context(), s, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// podRange returns a range that has the addresses of the pods.
func podRange(t *testing.T) netip.Prefix {
	t.Helper()
	a, err := netip.ParseAddr(podsOf(t, "books", "")[0].Status.PodIP)
	if err != nil {
		t.Fatal(err)
	}
	p, err := a.Prefix(a.BitLen() / 2)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// wantSidecars checks that the pods that do not end have a sidecar of Anymesh.
func wantSidecars(t *testing.T) {
	t.Helper()
	eventually(t, 20*time.Second, "each pod has a sidecar of Anymesh", func() error {
		for _, pod := range podsOf(t, "books", "") {
			if pod.DeletionTimestamp == nil && pod.Labels["anymesh.dev/proxy-uuid"] == "" {
				return fmt.Errorf("pod %s has none", pod.Name)
			}
		}
		return nil
	})
}
