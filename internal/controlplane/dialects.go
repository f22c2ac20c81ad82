package controlplane

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

func readinessGates(dialects []dialect.Dialect) []dialect.ReadinessGate {
	var out []dialect.ReadinessGate
	for _, d := range dialect.Implementing[dialect.ReadinessGates](dialects) {
		out = append(out, d.ReadinessGates()...)
	}
	return out
}

// cacheTransforms returns the transforms of cached objects by kind. Kinds without one have trimMetadata, which is the
// last one of the others: a dialect may read what it removes.
func cacheTransforms(dialects []dialect.Dialect) map[client.Object]cache.ByObject {
	out := map[client.Object]cache.ByObject{
		&corev1.Pod{}:     {Transform: engine.TrimPod},
		&corev1.Service{}: {Transform: engine.TrimService},
	}
	for _, d := range dialect.Implementing[dialect.Transforms](dialects) {
		for kind, transform := range d.Transforms() {
			out[kind] = cache.ByObject{Transform: func(object any) (any, error) {
				object, err := transform(object)
				if err != nil {
					return nil, err
				}
				return trimMetadata(object)
			}}
		}
	}
	return out
}

// drivesWithoutAgent reports whether proxies without an agent may be for a driver.
func (cp *controlPlane) drivesWithoutAgent(driver string) bool {
	return slices.ContainsFunc(dialect.Implementing[dialect.WithoutAgent](cp.dialects), func(d dialect.WithoutAgent) bool {
		return d.DriverWithoutAgent() == driver
	})
}
