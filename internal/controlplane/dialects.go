package controlplane

import "anymesh.dev/anymesh/internal/dialect"

// implementing picks the dialects that have an optional part of the contract.
func implementing[T any](dialects []dialect.Dialect) []T {
	var out []T
	for _, d := range dialects {
		if t, is := d.(T); is {
			out = append(out, t)
		}
	}
	return out
}

// readinessGateDialect is a dialect whose former controller opened readiness gates of pods.
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
