package controller

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"

	"anymesh.dev/anymesh/internal/objects/workqueue"
)

// workers is the number of owners that are evaluated concurrently.
const workers = 4

// forbiddenRetry is how long a write that was forbidden or rejected is not tried again.
const forbiddenRetry = 5 * time.Minute

// Options configure a controller. Config and Planners are required.
type Options struct {
	Config   *rest.Config
	Planners []Planner
	// Recorder records events; nil means none.
	Recorder events.EventRecorder
	// Log may be nil.
	Log *slog.Logger
	// Registerer registers the metrics; nil means none.
	Registerer prometheus.Registerer
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Controller keeps the objects of the owners of its planners. Use New.
type Controller struct {
	Options
	planners map[schema.GroupVersionKind]Planner
	client   dynamic.Interface
	http     *http.Client
	queue    *workqueue.Queue[ObjectKey]

	evaluations, writes, statusWrites prometheus.Counter
	informerCount                     prometheus.Gauge
}

// New creates a controller.
func New(o Options) (*Controller, error) {
	c := &Controller{Options: o, planners: map[schema.GroupVersionKind]Planner{}}
	for _, p := range o.Planners {
		c.planners[p.Kind()] = p
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	var err error
	if c.http, err = rest.HTTPClientFor(o.Config); err != nil {
		return nil, fmt.Errorf("client of the Route controller: %w", err)
	}
	if c.client, err = dynamic.NewForConfigAndClient(o.Config, c.http); err != nil {
		return nil, fmt.Errorf("client of the Route controller: %w", err)
	}
	c.queue = workqueue.New[ObjectKey]("routes", o.Registerer)
	counter := func(name, help string) prometheus.Counter {
		out := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		if o.Registerer != nil {
			o.Registerer.MustRegister(out)
		}
		return out
	}
	c.evaluations = counter("anymesh_route_evaluations_total", "Evaluations of Routes and of applications with Routes.")
	c.writes = counter("anymesh_route_writes_total", "Objects of Routes that were applied or deleted.")
	c.statusWrites = counter("anymesh_route_status_writes_total", "Statuses of Routes that were written.")
	c.informerCount = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "anymesh_route_informers", Help: "Kinds of objects that are watched for Routes, by the leader.",
	})
	if o.Registerer != nil {
		o.Registerer.MustRegister(c.informerCount)
	}
	return c, nil
}

// run is the state of a running controller.
type run struct {
	*Controller
	ctx       context.Context
	index     *index
	kinds     *kinds
	informers *informers

	expected *expectations

	mu         sync.Mutex
	evaluation int
}

// Run runs the controller until the context ends. It waits for the kinds of the owners. Calls must not overlap.
func (c *Controller) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	mapper, err := newMapper(c.Config, *c.http)
	if err != nil {
		return err
	}
	r := &run{Controller: c, ctx: ctx, index: newIndex(), expected: newExpectations()}
	r.kinds = newKinds(mapper, c.Log, r.kindChanged)
	r.informers = &informers{
		ctx: ctx, client: c.client, log: c.Log, gauge: c.informerCount, changed: r.objectChanged, synced: r.kindSynced,
		running: map[schema.GroupVersionKind]*informer{},
	}
	var all sync.WaitGroup
	var watchErr error
	all.Go(func() {
		c.queue.Run(ctx, workqueue.Reconciler[ObjectKey]{
			Workers: workers, ListKeys: r.planned, Reconcile: r.reconcile,
			OnFailure: func(k ObjectKey, err error) {
				c.Log.Warn("objects are not written; retrying", "kind", k.Kind.Kind, "name", k.Namespace+"/"+k.Name, "error", err)
			},
		})
	})
	all.Go(func() {
		if watchErr = r.kinds.run(ctx, c.client, r.ownersOfPlanners); watchErr != nil {
			stop()
		}
	})
	all.Wait()
	r.informers.done.Wait()
	c.informerCount.Set(0)
	return watchErr
}

// plannerKey is the pseudo owner that keeps the informer of a planner's kind.
func plannerKey(kind schema.GroupVersionKind) ObjectKey { return ObjectKey{Kind: kind} }

// ownersOfPlanners starts the informers of the owners whose kinds exist.
func (r *run) ownersOfPlanners() {
	r.queue.Add(r.planned()...)
}

// planned returns the pseudo owners of the planners.
func (r *run) planned() []ObjectKey {
	var out []ObjectKey
	for kind := range r.planners {
		out = append(out, plannerKey(kind))
	}
	return out
}

// kindChanged evaluates the owners that asked for a kind.
func (r *run) kindChanged(kind schema.GroupVersionKind) {
	owners := r.index.askedFor(kind)
	r.queue.Add(owners...)
}

// kindSynced evaluates the owners that read a kind, and the objects of the kind if they are owners: they are not
// evaluated before all are known.
func (r *run) kindSynced(kind schema.GroupVersionKind) {
	r.queue.Add(r.index.usersOf(kind)...)
	if r.planners[kind] == nil {
		return
	}
	m, err := r.kinds.get(kind)
	if err != nil || m == nil {
		return
	}
	if one, err := r.informers.get(kind, *m); err == nil {
		for _, o := range ordered(one.GetStore().List()) {
			r.queue.Add(KeyOf(o))
		}
	}
}

// objectChanged evaluates the owners that read an object, and the object itself if it is an owner.
func (r *run) objectChanged(kind schema.GroupVersionKind, before, after *unstructured.Unstructured) {
	current := after
	if current == nil {
		current = before
	}
	if current == nil {
		return
	}
	awaited := r.expected.observe(current, after == nil)
	if !awaited && sameContent(before, after) {
		return
	}
	owners := r.index.readersOf(kind, before, after)
	if r.planners[kind] != nil {
		if key := (ObjectKey{kind, current.GetNamespace(), current.GetName()}); ownChange(before, after) {
			owners[key] = true
		}
	}
	for owner := range owners {
		r.queue.Add(owner)
	}
}

// ownChange reports whether an owner changed besides its status.
func ownChange(before, after *unstructured.Unstructured) bool {
	return before == nil || after == nil || before.GetUID() != after.GetUID() ||
		before.GetGeneration() != after.GetGeneration() || !sameContent(withoutStatus(before), withoutStatus(after))
}

func withoutStatus(o *unstructured.Unstructured) *unstructured.Unstructured {
	content := contentOf(o)
	delete(content, "status")
	metadata, _ := content["metadata"].(map[string]any)
	delete(metadata, "managedFields")
	return &unstructured.Unstructured{Object: content}
}

// nextEvaluation returns the number of an evaluation.
func (r *run) nextEvaluation() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.evaluation++
	return r.evaluation
}

// reconcile evaluates an owner.
func (r *run) reconcile(ctx context.Context, key ObjectKey) (time.Duration, error) {
	planner := r.planners[key.Kind]
	read := &reader{run: r, owner: key, evaluation: r.nextEvaluation()}
	if key == plannerKey(key.Kind) {
		read.informer(key.Kind)
		if read.err == nil {
			r.forget(key, read.evaluation)
		}
		return 0, read.err
	}
	owner := r.ownerOf(key)
	if owner == nil || owner.GetDeletionTimestamp() != nil {
		r.forget(key, 0)
		return 0, nil
	}
	for _, kind := range planner.Reads() {
		read.informer(kind)
	}
	if read.waits || read.err != nil {
		return 0, read.err // kindSynced continues
	}
	r.evaluations.Inc()
	plan := planner.Plan(owner, read)
	existing := r.pruned(owner, plan, read)
	if read.waits || read.err != nil {
		return 0, read.err
	}
	r.forget(key, read.evaluation)
	outcome, again, err := r.write(ctx, owner, plan, existing, read)
	if outcome.Problem == nil && (err != nil || again == awaitsEvent) {
		return 0, err
	}
	if statusErr := r.writeStatus(ctx, owner, plan.Status(outcome)); statusErr != nil {
		return 0, statusErr
	}
	return max(again, 0), err
}

// forget removes what the owner read in earlier evaluations, and stops informers that nothing uses.
func (r *run) forget(key ObjectKey, evaluation int) {
	r.informers.stopUnused(r.index.keep(key, evaluation), r.index.isUsed)
}

// ownerOf returns an owner from its informer, or nil.
func (r *run) ownerOf(key ObjectKey) *unstructured.Unstructured {
	m, err := r.kinds.get(key.Kind)
	if err != nil || m == nil {
		return nil
	}
	one, err := r.informers.get(key.Kind, *m)
	if err != nil {
		return nil
	}
	o, _, _ := one.GetStore().GetByKey(key.Namespace + "/" + key.Name)
	u, _ := o.(*unstructured.Unstructured)
	return u
}

// pruned returns the objects that the owner controls, of the kinds of the plan.
func (r *run) pruned(owner *unstructured.Unstructured, plan Plan, read *reader) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, kind := range plan.Prunes {
		for _, o := range read.Owned(kind, owner.GetNamespace(), owner.GetUID()) {
			if controls(owner, o) {
				out = append(out, o)
			}
		}
	}
	return out
}
