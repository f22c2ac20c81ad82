package install

import (
	"maps"
	"strings"
	"testing"
)

// Integers are those of one replica, and do not say which clusters they are of.
func TestAggregatorIntegersNeedOneReplica(t *testing.T) {
	for _, c := range []struct {
		values map[string]any
		fails  string
	}{
		{map[string]any{"replicas": 1}, ""},
		{map[string]any{}, "needs aggregator.replicas 1"},
		{map[string]any{"replicas": 1, "authorizeClusters": true}, "needs aggregator.authorizeClusters false"},
	} {
		values := map[string]any{"enabled": true, "integerResourceVersions": true}
		maps.Copy(values, c.values)
		_, err := Manifests(Options{Namespace: "n", Values: map[string]any{"aggregator": values}})
		if (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%v: got %v, want %q", c.values, err, c.fails)
		}
	}
}
