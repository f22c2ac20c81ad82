package controlplane

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/admission"
	"anymesh.dev/anymesh/model"
)

// admissionCache is the cache of the webhooks: the objects of the engine, as far as dialects read them.
type admissionCache struct {
	*engine.Engine
	waiting *admission.Waiting
	kinds   []client.Object // that SelectWorkload reads
	// settings are the dialects with settings of pods.
	settings []dialect.SidecarSettings
}

// newAdmissionCache returns the cache, whose waiting reviews the engine wakes.
func newAdmissionCache(e *engine.Engine, dialects []dialect.Dialect, registerer prometheus.Registerer) admissionCache {
	c := admissionCache{
		Engine: e, waiting: admission.NewWaiting(registerer),
		settings: dialect.Implementing[dialect.SidecarSettings](dialects),
	}
	for _, d := range dialect.Implementing[dialect.Injection](dialects) {
		c.kinds = append(c.kinds, d.WorkloadReads()...)
	}
	e.AddSink(func(change engine.Change) {
		c.waiting.Changed(change.Objects...)
		c.waiting.Changed(change.Deleted...)
	})
	return c
}

// Await implements inject.Cluster.
func (c admissionCache) Await(ctx context.Context, namespace string, try func() bool) {
	c.waiting.Await(ctx, func(o client.Object) bool {
		if _, is := o.(*corev1.Namespace); is {
			return o.GetName() == namespace
		}
		return (o.GetNamespace() == "" || o.GetNamespace() == namespace) && slices.ContainsFunc(c.kinds,
			func(kind client.Object) bool { return reflect.TypeOf(kind) == reflect.TypeOf(o) })
	}, try)
}

// SelectWorkload selects the workload of a new pod. Usually the engine has it; a workload of another namespace with the
// same key is not that of the pod.
func (c admissionCache) SelectWorkload(d dialect.Injection, pod *corev1.Pod) (model.Workload, bool, error) {
	var objects []client.Object
	for _, kind := range d.WorkloadReads() {
		objects = append(objects, c.ObjectsFor(pod.Namespace, kind)...)
	}
	key, found, err := d.SelectWorkload(objects, pod, pod.Namespace)
	if err != nil || !found {
		return model.Workload{}, false, err
	}
	if known, ok := c.Workload(key); ok && known.Origin.Object().Namespace == pod.Namespace {
		return known, true, nil
	}
	if first, is := d.(dialect.PodWorkloads); is {
		return first.NewWorkload(objects, pod, key), true, nil
	}
	workload, ok := engine.Compute([]dialect.Dialect{d}, engine.Settings{}, objects).Index.Workload(key)
	if !ok {
		return model.Workload{}, false, fmt.Errorf("workload %s of the pod cannot be served; see the status of its object", key)
	}
	return workload, true, nil
}

// certificateLifetime returns the lifetime of the certificates of pods in a namespace; 0 if no dialect says.
func (c admissionCache) certificateLifetime(namespace string) time.Duration {
	ns, known := c.Namespace(namespace)
	if !known {
		return 0
	}
	for _, d := range c.settings {
		var objects []client.Object
		for _, kind := range d.SettingsReads() {
			objects = append(objects, c.ObjectsOf(kind)...)
		}
		if lifetime := d.CertificateLifetime(objects, ns); lifetime != 0 {
			return lifetime
		}
	}
	return 0
}
