package finalizers

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
)

// cluster is a fake API server with a Reconciler.
type cluster struct {
	client.WithWatch
	*Reconciler
	recorder *events.FakeRecorder

	mu        sync.Mutex
	reads     int
	readError error // result of reads
	signals   int   // calls of FindingsChanged
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(api.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c := &cluster{recorder: events.NewFakeRecorder(1000)}
	c.WithWatch = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	counted := interceptor.NewClient(c.WithWatch,
		interceptor.Funcs{Get: func(ctx context.Context, under client.WithWatch, k client.ObjectKey, o client.Object,
			opts ...client.GetOption) error {
			c.mu.Lock()
			c.reads++
			err := c.readError
			c.mu.Unlock()
			if err != nil {
				return err
			}
			return under.Get(ctx, k, o, opts...)
		}})
	c.Reconciler = New(Options{
		Dialects: []dialect.Finalizers{appmesh.Dialect{}}, Client: counted, Recorder: c.recorder,
		FindingsChanged: func() { c.signals++ }, Log: slog.New(slog.DiscardHandler),
	})
	for _, o := range objects {
		c.sync(t, o)
	}
	return c
}

// sync passes the current state of an object to the Reconciler. It reports whether the object is deleted.
func (c *cluster) sync(t *testing.T, o client.Object) (gone bool) {
	t.Helper()
	now := o.DeepCopyObject().(client.Object)
	switch err := c.Get(t.Context(), client.ObjectKeyFromObject(o), now); {
	case apierrors.IsNotFound(err):
		c.Changed(engine.Change{Deleted: []client.Object{o}})
		return true
	case err != nil:
		t.Fatal(err)
	}
	c.Changed(engine.Change{Objects: []client.Object{now}})
	return false
}

func (c *cluster) setReadError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readError = err
}

// readCount returns the number of reads, after all reconciliations have ended.
func (c *cluster) readCount() int {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

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

func (c *cluster) delete(t *testing.T, o client.Object) (gone bool) {
	t.Helper()
	if err := c.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	c.sync(t, o)
	synctest.Wait()
	return c.sync(t, o)
}
