package status

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
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
	"anymesh.dev/anymesh/internal/flow"
	"anymesh.dev/anymesh/model"
)

// cluster is an API server in memory, with a writer at work on it.
type cluster struct {
	client.WithWatch
	*Writer
	recorder *events.FakeRecorder
	extra    []model.Finding

	mu     sync.Mutex
	writes int
	// refuse is asked before each write.
	refuse func(client.Object) error
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, api.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := &cluster{recorder: events.NewFakeRecorder(100)}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&api.Mesh{}, &api.VirtualNode{}, &api.VirtualService{}, &api.VirtualRouter{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: c.patch}).Build()
	c.Writer = New(Writer{
		Dialects: []StatusMaker{appmesh.Dialect{}}, Cache: c.WithWatch, Client: c.WithWatch, Recorder: c.recorder,
		State: func() *flow.State { return c.state(t) }, Findings: func() []model.Finding { return c.extra },
		Log: slog.New(slog.DiscardHandler),
	})
	return c
}

func (c *cluster) patch(ctx context.Context, under client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	c.mu.Lock()
	c.writes++
	refuse := c.refuse
	c.mu.Unlock()
	if refuse != nil {
		if err := refuse(o); err != nil {
			return err
		}
	}
	return under.SubResource(sub).Patch(ctx, o, p, opts...)
}

// written gives the number of writes since the last time.
func (c *cluster) written() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.writes
	c.writes = 0
	return n
}

// state is what the flow makes of the objects of the cluster.
func (c *cluster) state(t *testing.T) *flow.State {
	t.Helper()
	var objects []client.Object
	for _, list := range []client.ObjectList{&api.MeshList{}, &api.VirtualNodeList{}, &api.VirtualServiceList{}, &api.VirtualRouterList{}, &corev1.PodList{}, &corev1.NamespaceList{}} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		items, err := items(list)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, items...)
	}
	return flow.Compute([]dialect.Dialect{appmesh.Dialect{}}, objects)
}

// do makes one pass.
func (c *cluster) do(t *testing.T) (again bool) {
	t.Helper()
	return c.pass(t.Context(), rate.NewLimiter(rate.Inf, 1))
}

// happened gives the events since the last time.
func (c *cluster) happened() string {
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
	return &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m", Generation: 1}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}}}
}

// node has a backend if one is named.
func node(name, backend string) *api.VirtualNode {
	vn := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, Generation: 4}}
	if backend != "" {
		vn.Spec.Backends = []api.Backend{{VirtualService: api.VirtualServiceBackend{VirtualServiceRef: &api.VirtualServiceReference{Name: backend}}}}
	}
	return vn
}

// summary says what a VirtualNode's status says.
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
