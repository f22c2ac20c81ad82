package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// fragile is a dialect with a mesh for each Namespace. It panics for a label.
type fragile struct{ dialect.Dialect }

func (fragile) Name() string { return "fragile" }

func (fragile) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	rule := incremental.NewRule(g, "Namespace")
	incremental.Each(rule, store.Of[*corev1.Namespace](objects), out.EmitsMeshes(rule),
		func(meshes store.Output[string, model.Mesh], _ types.NamespacedName, all []*corev1.Namespace) {
			if all[0].Labels["broken"] != "" {
				panic("broken: " + all[0].Labels["broken"])
			}
			meshes.Emit(model.Mesh{Name: all[0].Name, TrustDomain: all[0].Labels["domain"]})
		})
}

// A panic of a rule is a finding about its object. Everything else goes on, and the last good result stays.
func TestPanicOfARuleIsAFinding(t *testing.T) {
	var log bytes.Buffer
	e := New(slog.New(slog.NewTextHandler(&log, nil)), []dialect.Dialect{fragile{}}, Settings{})
	registry := prometheus.NewRegistry()
	e.Register(registry)
	set := func(name, domain, broken string) {
		e.Set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"domain": domain, "broken": broken},
		}})
	}
	const finding = `Error InternalError Namespace a: rule "fragile: Namespace" failed: broken: yes; ` +
		"the last good configuration stays in use; please report this text with the object and the log of the control plane"
	for i, c := range []struct {
		change            func()
		domains, findings string
		logged            int
	}{
		{func() { set("a", "one", ""); set("b", "one", "") }, "a:one b:one", "", 0},
		{func() { set("a", "two", "yes"); set("b", "two", "") }, "a:one b:two", finding, 1},
		{func() { set("a", "three", "yes") }, "a:one b:two", finding, 2},
		{func() { set("a", "four", "") }, "a:four b:two", "", 2},
	} {
		c.change()
		e.Sync()
		var domains, findings []string
		for _, m := range e.State().Index.Model.Meshes {
			domains = append(domains, m.Name+":"+m.TrustDomain)
		}
		for _, f := range e.State().Findings {
			findings = append(findings, f.String())
		}
		logged := strings.Count(log.String(), "a rule failed")
		if strings.Join(domains, " ") != c.domains || strings.Join(findings, "\n") != c.findings || logged != c.logged {
			t.Errorf("step %d: got meshes %q, findings %q, %d log lines; want %+v", i, domains, findings, logged, c)
		}
	}
	if !strings.Contains(log.String(), "failure_test.go") || !strings.Contains(log.String(), "fragile: Namespace") {
		t.Errorf("the log has neither rule nor stack:\n%s", log.String())
	}
	if got := testutil.ToFloat64(e.metrics.failures); got != 2 {
		t.Errorf("metric: got %v, want 2", got)
	}
}
