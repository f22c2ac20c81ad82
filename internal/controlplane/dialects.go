package controlplane

import (
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// implementing returns the dialects that implement an optional interface.
func implementing[T any](dialects []dialect.Dialect) []T {
	var out []T
	for _, d := range dialects {
		if t, is := d.(T); is {
			out = append(out, t)
		}
	}
	return out
}

// readinessGateDialect is a dialect whose former controller managed readiness gates of pods.
type readinessGateDialect interface {
	ReadinessGates() []dialect.ReadinessGate
}

func readinessGates(dialects []dialect.Dialect) []dialect.ReadinessGate {
	var out []dialect.ReadinessGate
	for _, d := range implementing[readinessGateDialect](dialects) {
		out = append(out, d.ReadinessGates()...)
	}
	return out
}

// transformDialect is a dialect with transforms of cached objects of its own kinds, for example to share equal parts.
// A transform may let objects share lists and maps, but not pointers: sharingInformer writes what they refer to.
type transformDialect interface {
	Transforms() map[client.Object]toolscache.TransformFunc
}

// cacheTransforms returns the transforms of cached objects by kind. Kinds without one have trimMetadata.
func cacheTransforms(dialects []dialect.Dialect) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{
		&corev1.Pod{}:     {Transform: engine.TrimPod},
		&corev1.Service{}: {Transform: engine.TrimService},
	}
	for _, d := range implementing[transformDialect](dialects) {
		for kind, transform := range d.Transforms() {
			out[kind] = cache.ByObject{Transform: func(object any) (any, error) {
				object, err := trimMetadata(object)
				if err != nil {
					return nil, err
				}
				return transform(object)
			}}
		}
	}
	return out
}
