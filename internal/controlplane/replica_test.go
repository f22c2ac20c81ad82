package controlplane

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	_ "anymesh.dev/anymesh/internal/driver/envoy"
	"anymesh.dev/anymesh/internal/trait"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// replica is a control plane with all components.
type replica struct {
	*controlPlane
	t     *testing.T
	stop  context.CancelFunc // as SIGTERM does
	ended chan error
}

// startReplica starts a replica that uses the API server at an address.
func startReplica(t *testing.T, name, address string) *replica {
	t.Helper()
	return startReplicaWith(t, name, address, func(*controlPlane) {})
}

// startReplicaWith is startReplica with a change of the replica before it runs.
func startReplicaWith(t *testing.T, name, address string, change func(*controlPlane)) *replica {
	t.Helper()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	cp, err := prepare(Config{
		KubeConfig: &rest.Config{Host: "http://" + address, ContentConfig: rest.ContentConfig{ContentType: "application/json"}, QPS: 200, Burst: 400},
		Namespace:  "anymesh-system", TrustDomain: "cluster.local", Name: name, CertificateLifetime: time.Hour,
		RootLifetime: 1000 * time.Hour,
		RouteTrait:   trait.Settings{Enabled: true},
		Mesh: &sidecar.MeshConfig{Sidecar: sidecar.Settings{SidecarClass: "envoy", SidecarDrivers: []sidecar.DriverSettings{
			{SidecarName: "envoy", SidecarImage: "envoy:1", ProxyServerPort: uint32(number)},
		}}},
		SigningAddress: "127.0.0.1:0", WebhookAddress: "127.0.0.1:0", MetricsAddress: freeport.Address(t),
		DebugAddress: "127.0.0.1:0",
		Log:          slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	change(cp)
	ctx, stop := context.WithCancel(t.Context())
	r := &replica{cp, t, stop, make(chan error, 1)}
	go func() { r.ended <- cp.runAll(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-r.ended; err != nil {
			t.Errorf("replica %s returned error %v", name, err)
		}
	})
	return r
}

// eventually polls until a condition is true.
func (r *replica) eventually(description string, condition func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for !condition() {
		select {
		case err := <-r.ended:
			r.ended <- nil
			r.t.Fatalf("the replica returned %v", err)
		case <-ctx.Done():
			r.t.Fatalf("timeout: %s; readiness: %v", description, r.health("/readyz"))
		case <-ticks.C:
		}
	}
}

// health sends a health probe, like the kubelet.
func (r *replica) health(path string) error {
	response, err := http.Get("http://" + r.MetricsAddress + path)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New(string(text))
	}
	return err
}

// expectNotReady waits until the replica is live, but not ready for a reason.
func (r *replica) expectNotReady(reason string) {
	r.t.Helper()
	r.eventually("not ready: "+reason, func() bool {
		err := r.health("/readyz")
		return r.health("/livez") == nil && err != nil && strings.Contains(err.Error(), reason)
	})
}

func (r *replica) expectReady() {
	r.t.Helper()
	r.eventually("ready", func() bool { return r.health("/readyz") == nil })
}

func (r *replica) workloads() (names []string) {
	for _, key := range r.engine.Workloads() {
		names = append(names, key.Name)
	}
	return names
}

func (r *replica) expectWorkloads(workloads ...string) {
	r.t.Helper()
	r.eventually("the workloads are "+strings.Join(workloads, ", "), func() bool {
		return slices.Equal(r.workloads(), workloads)
	})
}

func workload(name string) *api.VirtualNode {
	return &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
		Spec: api.VirtualNodeSpec{
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
		},
	}
}

// newPopulatedAPI returns an API server with a Mesh and VirtualNodes.
func newPopulatedAPI(t *testing.T, nodes ...string) *kubeAPI {
	k := newKubeAPI()
	k.applyObject(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	k.applyObject(t, &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	})
	for _, name := range nodes {
		k.applyObject(t, workload(name))
	}
	return k
}
