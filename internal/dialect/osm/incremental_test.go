package osm_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/test/cases"
)

// After any sequence of changes of cached objects, the model and the findings are those of a start with the same whole
// objects.
func TestIncrementalEqualsFull(t *testing.T) {
	for _, path := range cases.Names("osm") {
		c, err := cases.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			m, objects := newMesh()
			present := map[client.Object]bool{}
			for i := range 6 * len(c.Objects) {
				o := c.Objects[random.IntN(len(c.Objects))]
				if present[o] = !present[o]; present[o] {
					objects.Set(cached(t, o))
				} else {
					objects.Delete(cached(t, o))
				}
				m.run()
				fresh, all := newMesh()
				for _, o := range c.Objects {
					if present[o] {
						all.Set(o)
					}
				}
				fresh.run()
				if diff := cmp.Diff(fresh.result(), m.result()); diff != "" {
					t.Fatalf("step %d, after %T %s: (-full +incremental)\n%s", i, o, o.GetName(), diff)
				}
			}
		})
	}
}

// cached returns the object that the cache of the control plane has.
func cached(t *testing.T, o client.Object) client.Object {
	t.Helper()
	var out any = o.DeepCopyObject()
	transforms := []toolscache.TransformFunc{engine.TrimPod, engine.TrimService}
	for kind, transform := range (osm.Dialect{}).Transforms() {
		if reflect.TypeOf(kind) == reflect.TypeOf(o) {
			transforms = append(transforms, transform)
		}
	}
	for _, transform := range transforms {
		var err error
		if out, err = transform(out); err != nil {
			t.Fatal(err)
		}
	}
	return out.(client.Object)
}

type mesh struct {
	g    *incremental.Graph
	mesh *store.Mesh
}

func newMesh() (mesh, *store.Objects) {
	g := incremental.New()
	objects, out := store.NewObjects(g), store.NewModel(g)
	osm.Dialect{}.Rules(g, objects, out)
	return mesh{g, store.NewMesh(g, objects, out, store.Settings{})}, objects
}

func (m mesh) run() { m.g.Run() }

// result returns the hash of each item, and the findings.
func (m mesh) result() map[string][]string {
	s, out := m.mesh.Snapshot(), map[string][]string{}
	add := func(kind string, item any) { out[kind] = append(out[kind], model.Hash(item)) }
	for _, w := range s.Workloads {
		out["workloads"] = append(out["workloads"], w.Name)
		add("hashes of workloads", w)
	}
	for _, d := range s.Destinations {
		out["destinations"] = append(out["destinations"], d.Name)
		add("hashes of destinations", d)
	}
	add("rest", [...]any{&s.Meshes, &s.Services, &s.Routers, &s.Endpoints, &s.AuthorizationPolicies})
	for _, f := range m.mesh.AllFindings() {
		out["findings"] = append(out["findings"], f.String())
	}
	slices.Sort(out["findings"])
	return out
}
