package controlplane

import (
	"log/slog"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
)

// The status writer reads objects of the engine, which holds those of kinds that a rule reads.
func TestEngineHoldsAllKinds(t *testing.T) {
	for _, d := range dialect.All() {
		e := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{d}, engine.Settings{})
		kinds := d.Kinds()
		if more, is := d.(dialect.Statuses); is {
			kinds = append(kinds, more.StatusKinds()...)
		}
		for _, kind := range kinds {
			o := kind.DeepCopyObject().(client.Object)
			o.SetName("a")
			e.Set(o)
			e.Sync()
			if _, holds := e.Object(kind, client.ObjectKeyFromObject(o)); !holds {
				t.Errorf("dialect %s: the engine does not hold a %T", d.Name(), kind)
			}
		}
	}
}
