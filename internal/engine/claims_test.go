package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// ledger is a tiny dialect: each ConfigMap is a workload with a service, and has the pods with the label app=NAME.
type ledger struct{ dialect.Dialect }

func (ledger) Name() string { return "ledger" }

type ledgerRule struct {
	meshes    store.Output[string, model.Mesh]
	workloads store.Output[model.Key, model.Workload]
	services  store.Output[model.Key, model.Service]
}

func (ledger) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	rule := incremental.NewRule(g, "ConfigMap")
	incremental.Each(rule, store.Of[*corev1.ConfigMap](objects),
		ledgerRule{out.EmitsMeshes(rule), out.EmitsWorkloads(rule), out.EmitsServices(rule)}, ledgerRule.evaluate)
	rule = incremental.NewRule(g, "Pod")
	incremental.Each(rule, store.Of[*store.Pod](objects), out.EmitsEndpoints(rule),
		func(endpoints store.Output[model.Instance, model.Endpoint], _ types.NamespacedName, all []*store.Pod) {
			if app := all[0].Labels.Get("ledger"); app != "" {
				endpoints.Emit(store.EndpointOf(all[0], model.Key{Mesh: "m", Name: app}, "ledger"))
			}
		})
}

func (r ledgerRule) evaluate(id types.NamespacedName, all []*corev1.ConfigMap) {
	at := model.NewOrigin(model.ObjectRef{Kind: "ConfigMap", Namespace: id.Namespace, Name: id.Name}).CreatedAt(store.CreatedAt(all[0]))
	r.meshes.Emit(model.Mesh{Name: all[0].Data["mesh"], TrustDomain: "ledger", Origin: at})
	key := model.Key{Mesh: "m", Name: all[0].Data["workload"]}
	r.workloads.Emit(model.Workload{Key: key, NodeID: "ledger", Origin: at})
	r.services.Emit(model.Service{Key: model.Key{Mesh: "m", Name: all[0].Data["service"]}, Router: "r", Origin: at})
}

func createdAt[T client.Object](second int64, o T) T {
	o.SetCreationTimestamp(metav1.NewTime(time.Unix(second, 0)))
	return o
}

func configMap(name string, data ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Data: map[string]string{
		"mesh": data[0], "workload": data[1], "service": data[2],
	}}
}

// Of two objects of different dialects that claim one name, the older one is served, and both get a finding. The order
// of their arrival and of the dialects has no effect.
func TestOlderClaimOfTwoDialectsIsServed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	shared := createdAt(50, pod("front", "uid"))
	shared.Labels["ledger"] = "entries"
	for _, c := range []struct {
		ledger                         int64
		workload, mesh, owner          string
		ledgerSeverity, meshesSeverity model.Severity
	}{
		{ledger: 5, workload: "ledger", mesh: "ledger", owner: "ConfigMap a/claim", ledgerSeverity: model.Warning,
			meshesSeverity: model.Error},
		{ledger: 15, workload: "mesh/m/virtualNode/front_a", mesh: "cluster.local", owner: "VirtualNode a/front",
			ledgerSeverity: model.Error, meshesSeverity: model.Warning},
	} {
		objects := []client.Object{
			createdAt(10, mesh()), createdAt(10, node("front")), shared,
			createdAt(c.ledger, configMap("claim", "m", "front_a", "own")),
			createdAt(c.ledger+1, configMap("entries", "m", "entries", "own")),
		}
		for range 20 {
			random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
			both := []dialect.Dialect{appmesh.Dialect{}, ledger{}}
			random.Shuffle(2, func(i, j int) { both[i], both[j] = both[j], both[i] })
			e := New(discardLog, both, Settings{})
			for _, o := range objects {
				e.Set(o)
				if random.IntN(2) == 0 {
					e.Sync()
				}
			}
			e.Sync()
			s := e.State()
			w, _ := s.Index.Workload(model.Key{Mesh: "m", Name: "front_a"})
			m, _ := s.Index.Mesh("m")
			if w.NodeID != c.workload || m.TrustDomain != c.mesh || w.Origin.Object().String() != c.owner {
				t.Fatalf("ledger of age %d: got workload %s of %s in mesh of %s", c.ledger, w.NodeID, w.Origin, m.TrustDomain)
			}
			for _, f := range s.Findings {
				if f.Code != model.CodeNameConflict {
					continue
				}
				want := c.meshesSeverity
				if f.Object.Kind == "ConfigMap" {
					want = c.ledgerSeverity
				}
				if f.Severity != want {
					t.Errorf("ledger of age %d: got %s, want severity %s", c.ledger, f, want)
				}
			}
			for _, want := range []string{
				"ConfigMap a/claim: VirtualNode a/front also defines the workload front_a of mesh m",
				"VirtualNode a/front: ConfigMap a/claim also defines the workload front_a of mesh m",
				"ConfigMap a/claim: Mesh m also defines the mesh m", "Mesh m: ConfigMap a/claim also defines the mesh m",
			} {
				if !slices.ContainsFunc(s.Findings, func(f model.Finding) bool { return strings.Contains(f.String(), want) }) {
					t.Fatalf("ledger of age %d: no finding %q among %v", c.ledger, want, s.Findings)
				}
			}
			// Conflicts within a dialect are its own business.
			if text := fmt.Sprint(s.Findings); strings.Contains(text, "the service own") {
				t.Errorf("got %s", text)
			}
			if ambiguous := e.state.graph.Ambiguities(); len(ambiguous) > 0 {
				t.Errorf("the order of entries depends on their arrival in relations %q", ambiguous)
			}
		}
	}
}

// A pod that workloads of two dialects select belongs to the older one, in the engine and in its state.
func TestPodOfTwoDialectsBelongsToTheOlder(t *testing.T) {
	shared := pod("front", "uid")
	shared.Labels["ledger"] = "entries"
	for second, want := range map[int64]string{5: "entries", 15: "front_a"} {
		e := New(discardLog, []dialect.Dialect{appmesh.Dialect{}, ledger{}}, Settings{})
		for _, o := range []client.Object{
			createdAt(10, mesh()), createdAt(10, node("front")), shared,
			createdAt(second, configMap("entries", "n", "entries", "own")),
		} {
			e.Set(o)
		}
		e.Sync()
		w, _ := e.WorkloadOf("uid")
		endpoints := e.State().Index.Model.Endpoints
		if w.Name != want || len(endpoints) != 1 || endpoints[0].Workload.Name != want {
			t.Errorf("ConfigMap of age %d: got workload %s, endpoints %v, want %s", second, w.Name, endpoints, want)
		}
		conflicts := 0
		for _, f := range e.State().Findings {
			if f.Code == model.CodeSelectorConflict {
				conflicts++
			}
		}
		if conflicts != 2 {
			t.Errorf("ConfigMap of age %d: got findings %v", second, e.State().Findings)
		}
	}
}
