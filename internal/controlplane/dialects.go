package controlplane

import "anymesh.dev/anymesh/internal/dialect"

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
