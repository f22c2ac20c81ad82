package fleet

import (
	"bufio"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// TestClustersThatCannotBeUsed names the field for each reason.
func TestClustersThatCannotBeUsed(t *testing.T) {
	for want, change := range map[string]func(*clusterv1.ClusterSpec, map[string][]byte){
		"spec.syncMode: Pull is not supported":          func(s *clusterv1.ClusterSpec, _ map[string][]byte) { s.SyncMode = clusterv1.Pull },
		"spec.apiEndpoint: the address":                 func(s *clusterv1.ClusterSpec, _ map[string][]byte) { s.APIEndpoint = "" },
		`spec.apiEndpoint: "http://c1" is not an https`: func(s *clusterv1.ClusterSpec, _ map[string][]byte) { s.APIEndpoint = "http://c1" },
		`spec.apiEndpoint: "https://" is not an https`:  func(s *clusterv1.ClusterSpec, _ map[string][]byte) { s.APIEndpoint = "https://" },
		"secret n/c1: key token is required":            func(_ *clusterv1.ClusterSpec, d map[string][]byte) { delete(d, clusterv1.SecretTokenKey) },
		"secret n/c1: key caBundle is required":         func(_ *clusterv1.ClusterSpec, d map[string][]byte) { delete(d, clusterv1.SecretCADataKey) },
		"spec.proxyHeader: requires spec.proxyURL": func(s *clusterv1.ClusterSpec, _ map[string][]byte) {
			s.ProxyHeader = map[string]string{"a": "b"}
		},
		`spec.proxyURL: "proxy" is not a URL`: func(s *clusterv1.ClusterSpec, _ map[string][]byte) { s.ProxyURL = "proxy" },
	} {
		cluster := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{APIEndpoint: "https://c1"}}
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "c1"},
			Data:       map[string][]byte{clusterv1.SecretTokenKey: []byte("t"), clusterv1.SecretCADataKey: []byte("ca")},
		}
		change(&cluster.Spec, secret.Data)
		if _, err := Config(cluster, secret, secret); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestMissingSecretsAreConditions names the field of a Secret that does not exist.
func TestMissingSecretsAreConditions(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	objects := s.join("c1")
	cluster := objects[0].(*clusterv1.Cluster)
	cluster.Spec.ImpersonatorSecretRef = &clusterv1.LocalSecretReference{Namespace: "n", Name: "none"}
	c := newControlPlane(t, objects...)
	if members := c.refresh(); len(members) != 0 || !strings.Contains(c.condition("c1"), "spec.impersonatorSecretRef: ") {
		t.Errorf("%+v %s", members, c.condition("c1"))
	}
	cluster.Spec.SecretRef = nil
	cluster.ResourceVersion = ""
	c = newControlPlane(t, cluster)
	if members := c.refresh(); len(members) != 0 || !strings.Contains(c.condition("c1"), "spec.secretRef: ") {
		t.Errorf("%+v %s", members, c.condition("c1"))
	}
}

// TestProxyGetsItsHeaders reaches a member through an HTTP proxy.
func TestProxyGetsItsHeaders(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	seen := make(chan http.Header, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect {
			http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
			return
		}
		seen <- r.Header
		tunnel(t, w, s.Listener.Addr().String())
	}))
	t.Cleanup(proxy.Close)
	objects := s.join("c1")
	spec := &objects[0].(*clusterv1.Cluster).Spec
	// Only the proxy knows this address. The certificate of the test server has the name example.com.
	spec.APIEndpoint, spec.ProxyURL = "https://example.com:6443", proxy.URL
	spec.ProxyHeader = map[string]string{"X-Team": "a, b"}
	members := newControlPlane(t, objects...).refresh()
	if len(members) != 1 || !members[0].Ready {
		t.Fatalf("%+v", members)
	}
	if got := (<-seen).Values("X-Team"); len(got) != 2 || got[0] != "a" || got[1] != "b" {
		t.Errorf("the proxy gets X-Team: %q", got)
	}
}

// tunnel connects the client of a CONNECT request with a server until one side closes.
func tunnel(t *testing.T, w http.ResponseWriter, address string) {
	to, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if _, err := from.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")); err != nil {
		return
	}
	go func() {
		_, _ = bufio.NewReader(to).WriteTo(from)
		_ = from.Close()
	}()
	_, _ = buffered.WriteTo(to)
	_ = to.Close()
}
