package status

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/dialect/ingress"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// cluster is a fake API server with an engine and a Writer. It must be used in a synctest bubble.
type cluster struct {
	client.WithWatch
	*Writer
	engine   *engine.Engine
	recorder *events.FakeRecorder
	metrics  *prometheus.Registry

	mu     sync.Mutex
	extra  []model.Finding
	writes []string
	// writeError returns the result of a write.
	writeError func(client.Object) error
}

// testCluster runs a test with a cluster in a synctest bubble.
func testCluster(t *testing.T, test func(t *testing.T, c *cluster)) {
	synctest.Test(t, func(t *testing.T) { test(t, newCluster(t)) })
}

func newCluster(t *testing.T, settings ...func(*Options)) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{recorder: events.NewFakeRecorder(100_000), metrics: prometheus.NewRegistry()}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).
		WithStatusSubresource(&api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{}, &api.VirtualRouter{},
			&networkingv1.Ingress{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: c.patch}).Build()
	log := slog.New(slog.DiscardHandler)
	ingresses := ingress.Dialect{Settings: ingress.Settings{
		Enabled: true, Gateway: gateway.Settings{Namespace: gateway.DefaultNamespace},
	}}
	dialects := []dialect.Dialect{appmesh.Dialect{}, ingresses}
	c.engine = engine.New(log, dialects, engine.Settings{}, func(change engine.Change) { c.Changed(change) })
	options := Options{
		Dialects: dialect.Implementing[dialect.Statuses](dialects), Cache: c.WithWatch, Client: c.WithWatch,
		Recorder: c.recorder, Mesh: c.engine, Delivered: c.delivered, Log: log, Registerer: c.metrics,
	}
	for _, set := range settings {
		set(&options)
	}
	var err error
	c.Writer, err = New(options)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *cluster) delivered() []model.Finding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.extra
}

func (c *cluster) setDelivered(findings ...model.Finding) {
	c.mu.Lock()
	c.extra = findings
	c.mu.Unlock()
	c.Wake()
}

func (c *cluster) patch(ctx context.Context, under client.Client, sub string, o client.Object, p client.Patch,
	opts ...client.SubResourcePatchOption) error {
	c.mu.Lock()
	c.writes = append(c.writes, o.GetName())
	writeError := c.writeError
	c.mu.Unlock()
	if writeError != nil {
		if err := writeError(o); err != nil {
			return err
		}
	}
	if err := under.SubResource(sub).Patch(ctx, o, p, opts...); err != nil {
		return err
	}
	if pod, is := o.(*corev1.Pod); is { // the informer sees the patch
		c.engine.Set(pod)
		c.engine.Sync()
	}
	return nil
}

// create adds objects to the API server and to the engine.
func (c *cluster) create(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		c.engine.Set(o.DeepCopyObject().(client.Object))
	}
	c.engine.Sync()
}

// update updates an object in the API server and, if notify is true, in the engine.
func (c *cluster) update(t *testing.T, o client.Object, notify bool) {
	t.Helper()
	o.SetGeneration(o.GetGeneration() + 1)
	if err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if notify {
		c.engine.Set(o.DeepCopyObject().(client.Object))
		c.engine.Sync()
	}
}

// run starts the Writer, and returns a function that stops it.
func (c *cluster) run(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	stop = func() { cancel(); running.Wait() }
	t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// advance advances the fake clock.
func advance(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// takeWrites returns the names of the objects written since the last call.
func (c *cluster) takeWrites() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	names := c.writes
	c.writes = nil
	return names
}

// takeEvents returns the events since the last call.
func (c *cluster) takeEvents() string {
	synctest.Wait()
	var out []string
	for {
		select {
		case e := <-c.recorder.Events:
			out = append(out, e)
		default:
			return strings.Join(out, "\n")
		}
	}
}

func (c *cluster) node(t *testing.T, name string) *api.VirtualNode {
	t.Helper()
	var vn api.VirtualNode
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "a", Name: name}, &vn); err != nil {
		t.Fatal(err)
	}
	return &vn
}

func mesh() *api.Mesh {
	return &api.Mesh{
		ObjectMeta: metav1.ObjectMeta{Name: "m", Generation: 1},
		Spec:       api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
	}
}

// node returns a VirtualNode, with a backend unless it is "".
func node(name, backend string) *api.VirtualNode {
	vn := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Generation: 4}}
	if backend != "" {
		vn.Spec.Backends = []api.Backend{
			{VirtualService: api.VirtualServiceBackend{VirtualServiceRef: &api.VirtualServiceReference{Name: backend}}},
		}
	}
	return vn
}

// deliveryFinding returns a finding of a sidecar driver.
func deliveryFinding(name, text string) model.Finding {
	return model.NewFinding(model.NewOrigin(model.ObjectRef{Group: "appmesh.k8s.aws", Kind: "VirtualNode", Namespace: "a", Name: name}), model.CodeRejected, text)
}

// summary formats the status of a VirtualNode.
func summary(vn *api.VirtualNode) string {
	var out []string
	for _, c := range vn.Status.Conditions {
		out = append(out, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
	}
	if g := vn.Status.ObservedGeneration; g != nil {
		out = append(out, fmt.Sprintf("generation %d", *g))
	}
	return strings.Join(out, ", ")
}
