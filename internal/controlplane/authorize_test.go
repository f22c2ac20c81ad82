package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/delivery"
	"anymesh.dev/anymesh/internal/delivery/xds"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/sidecar"
)

// newTestControlPlane has mesh m with workload front_a, and no pods.
func newTestControlPlane() *controlPlane {
	f := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{})
	f.Set(&api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	})
	f.Set(frontNode())
	defaultDriver := &driver{Class: delivery.Class{Name: "default", Default: true}, mesh: twoDrivers()}
	second := &driver{Class: delivery.Class{Name: "second"}, mesh: twoDrivers().Of("second")}
	return &controlPlane{
		Config: Config{Log: slog.New(slog.DiscardHandler)}, engine: f, podWatchTimeout: defaultPodWatchTimeout,
		drivers: []*driver{defaultDriver, second},
	}
}

func twoDrivers() *sidecar.MeshConfig {
	return &sidecar.MeshConfig{
		Sidecar: sidecar.Settings{
			SidecarClass:   "default",
			SidecarDrivers: []sidecar.DriverSettings{{SidecarName: "second", ProxyServerPort: 15129}},
		},
	}
}

// authorize authorizes a sidecar of the default driver.
func (cp *controlPlane) authorize(ctx context.Context, peer xds.Peer, node *corev3.Node) (xds.Grant, error) {
	return cp.authorizer(cp.drivers[0])(ctx, peer, node)
}

func frontNode() *api.VirtualNode {
	return &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "front"},
		Spec: api.VirtualNodeSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "front"}},
		},
	}
}

func (cp *controlPlane) addPod(app, uid string) { cp.addPodOf(app, app+"-1", uid, "") }

// addPodOf adds a pod with a sidecar of a class.
func (cp *controlPlane) addPodOf(app, name, uid, class string) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "a", Name: name, UID: types.UID(uid), Labels: map[string]string{"app": app},
		},
	}
	if class != "" {
		pod.Annotations = map[string]string{sidecar.ClassAnnotation: class}
	}
	cp.engine.Set(pod)
}

// start runs the engine until the end of the test.
func (cp *controlPlane) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- cp.engine.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	synctest.Wait()
}

// peer returns a peer with a client certificate for a pod.
func peer(t *testing.T, ca *identity.CA, pod, uid string) xds.Peer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := ca.Sign(identity.EncodeRequest(der),
		identity.Claims{Namespace: "a", ServiceAccount: "default", Pod: pod, PodUID: uid}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(issued.CertificatePEM)
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return xds.Peer{Chain: []*x509.Certificate{leaf}, Address: "10.0.0.1:1"}
}

func newCA(t *testing.T) *identity.CA {
	t.Helper()
	ca, err := identity.NewCA("cluster.local")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// The client certificate determines the workload; the node ID must match it.
func TestAuthorize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, cp := newCA(t), newTestControlPlane()
		cp.addPod("front", "uid-1")
		cp.start(t)
		known, unknown := peer(t, ca, "front-1", "uid-1"), peer(t, ca, "front-1", "uid-2")
		serving, err := ca.IssueServingCertificate([]string{"anymesh.a.svc"})
		if err != nil {
			t.Fatal(err)
		}
		own, err := serving.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name  string
			peer  xds.Peer
			node  *corev3.Node
			code  codes.Code
			fails string
		}{
			{"node ID of the workload", known, &corev3.Node{Id: "mesh/m/virtualNode/front_a"}, codes.OK, ""},
			{"no node ID", known, &corev3.Node{}, codes.OK, ""},
			{"no node", known, nil, codes.OK, ""},
			{"node ID of another workload", known, &corev3.Node{Id: "mesh/m/virtualNode/back_a"}, codes.PermissionDenied, "is an instance of mesh/m/virtualNode/front_a, not of mesh/m/virtualNode/back_a"},
			{"node ID of a gateway", known, &corev3.Node{Id: "mesh/m/virtualGateway/front_a"}, codes.PermissionDenied, "not of"},
			{"deleted pod with the same name", unknown, nil, codes.PermissionDenied, "pod a/front-1 is not an instance of any workload"},
			{"no certificate", xds.Peer{Address: "10.0.0.1:1"}, nil, codes.Unauthenticated, "no client certificate"},
			{"serving certificate", xds.Peer{Chain: []*x509.Certificate{own.Leaf}}, nil, codes.PermissionDenied, "peer certificate"},
		} {
			grant, err := cp.authorize(t.Context(), c.peer, c.node)
			if grpcstatus.Code(err) != c.code || c.code != codes.OK && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: got error %v, want %s %q", c.name, err, c.code, c.fails)
			}
			want := xds.Grant{}
			if c.code == codes.OK {
				want = xds.Grant{Key: "m/front_a", Identity: "uid-1"}
			}
			if grant != want {
				t.Errorf("%s: got %+v, want %+v", c.name, grant, want)
			}
		}
	})
}

// The xDS server of a driver accepts only sidecars of pods with this driver.
func TestAuthorizeChecksDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, cp := newCA(t), newTestControlPlane()
		for name, class := range map[string]string{
			"none": "", "default": "default", "second": "second", "unknown": "unknown",
		} {
			cp.addPodOf("front", name, "uid-"+name, class)
		}
		cp.start(t)
		for _, c := range []struct{ pod, server, fails string }{
			{"none", "default", ""},
			{"default", "default", ""},
			{"second", "second", ""},
			{"none", "second", `pod a/none has annotation anymesh.dev/sidecarClass: "", but this is the server of driver second; use port 15128`},
			{"default", "second", `driver second; use port 15128`},
			{"second", "default", `pod a/second has annotation anymesh.dev/sidecarClass: "second", but this is the server of driver default; use port 15129`},
			{"unknown", "default", "the mesh has only the drivers default, second;"},
		} {
			i := slices.IndexFunc(cp.drivers, func(d *driver) bool { return d.Name == c.server })
			_, err := cp.authorizer(cp.drivers[i])(t.Context(), peer(t, ca, c.pod, "uid-"+c.pod), nil)
			if c.fails == "" && err != nil || c.fails != "" &&
				(grpcstatus.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("pod %s, server %s: got error %v, want %q", c.pod, c.server, err, c.fails)
			}
		}
	})
}

// A sidecar may connect before the watch event of its pod arrives.
func TestAuthorizeWaitsForPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, peer := newTestControlPlane(), peer(t, newCA(t), "front-1", "uid-1")
		cp.start(t)
		result := make(chan error, 1)
		go func() {
			_, err := cp.authorize(t.Context(), peer, nil)
			result <- err
		}()
		time.Sleep(cp.podWatchTimeout / 2) // fake clock
		cp.addPod("front", "uid-1")
		if err := <-result; err != nil {
			t.Error(err)
		}
	})
}

func TestAuthorizeTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cp, peer := newTestControlPlane(), peer(t, newCA(t), "front-1", "uid-1")
		cp.start(t)
		cp.podWatchTimeout = time.Minute
		before := time.Now()
		_, err := cp.authorize(t.Context(), peer, nil)
		if grpcstatus.Code(err) != codes.PermissionDenied || time.Since(before) != time.Minute {
			t.Errorf("after %s: got error %v", time.Since(before), err)
		}
	})
}
