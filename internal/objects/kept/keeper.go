// Package kept keeps copies of objects whose last state stays in force when they are deleted.
//
// In: the objects of dialects. Out: a copy for each such dialect, in the namespace of the control plane. What the copy
// has, and what it does, is the dialect's.
package kept

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/workqueue"
)

// writeTimeout bounds a write.
const writeTimeout = 10 * time.Second

// Options configure a Keeper. All fields except Registerer are required.
type Options struct {
	Dialects []dialect.Keeping
	// Namespace is the namespace of the copies.
	Namespace string
	// Objects lists the objects of a kind, in all namespaces.
	Objects func(kind client.Object) []client.Object
	// Client reads from the API server, not from a cache, and writes.
	Client     client.Client
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Keeper writes copies. Use New.
type Keeper struct {
	Options
	queue *workqueue.Queue[string] // names of dialects
}

// New creates a Keeper.
func New(o Options) *Keeper {
	return &Keeper{Options: o, queue: workqueue.New[string]("kept", o.Registerer)}
}

// Changed is an engine.Sink.
func (k *Keeper) Changed(c engine.Change) {
	for _, d := range k.Dialects {
		kind := reflect.TypeOf(d.KeptCopy())
		is := func(o client.Object) bool { return reflect.TypeOf(o) == kind }
		if slices.ContainsFunc(c.Objects, is) || slices.ContainsFunc(c.Deleted, is) {
			k.queue.Add(d.Name())
		}
	}
}

// Run writes copies until the context ends. Only the leader may run it.
func (k *Keeper) Run(ctx context.Context) {
	k.queue.Run(ctx, workqueue.Reconciler[string]{
		Workers: 1, ListKeys: k.names, Reconcile: k.reconcile,
		OnFailure: func(name string, err error) {
			k.Log.Warn("the copy of the settings is not written; retrying", "dialect", name, "error", err)
		},
	})
}

func (k *Keeper) names() []string {
	var out []string
	for _, d := range k.Dialects {
		out = append(out, d.Name())
	}
	return out
}

func (k *Keeper) reconcile(ctx context.Context, name string) (time.Duration, error) {
	d := k.Dialects[slices.IndexFunc(k.Dialects, func(d dialect.Keeping) bool { return d.Name() == name })]
	want := d.Keep(k.Objects(d.KeptCopy()), k.Namespace)
	if want == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := k.write(ctx, want, d.KeptCopy()); err != nil {
		return 0, fmt.Errorf("%s: %w", dialect.RefOf(want), err)
	}
	return 0, nil
}

// write creates or updates a copy. It reads the object from the API server: the watched one may have an older status.
func (k *Keeper) write(ctx context.Context, want, now client.Object) error {
	err := k.Client.Get(ctx, client.ObjectKeyFromObject(want), now)
	switch {
	case apierrors.IsNotFound(err):
		return k.Client.Create(ctx, want)
	case err != nil:
		return err
	}
	want.SetResourceVersion(now.GetResourceVersion())
	return k.Client.Update(ctx, want)
}
