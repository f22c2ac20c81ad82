package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// The address of a name depends on the set of names only, not on the order or history of their creation.
func TestAllocationIsIndependentOfOrder(t *testing.T) {
	for _, size := range []uint32{16, 256, 1 << 16} {
		t.Run(fmt.Sprintf("range of %d", size), func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(size)))
			var names []string
			for i := range min(size*3/4, 500) {
				names = append(names, fmt.Sprintf("service-%d.shop", i))
			}
			want := allocate(names, size)
			for range 20 {
				random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				if got := allocate(names, size); !maps.Equal(got, want) {
					t.Fatalf("got %v, want %v", got, want)
				}
			}
			used := map[uint32]string{}
			for name, offset := range want {
				if other, taken := used[offset]; taken || offset == 0 || offset >= size {
					t.Errorf("%s has offset %d, as %q", name, offset, other)
				}
				used[offset] = name
			}
			if len(want) != len(names) {
				t.Errorf("%d of %d names have an address", len(want), len(names))
			}
		})
	}
}

// A new name changes the address of another name only on a collision, and a deletion restores it.
func TestAllocationMovesFewNames(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("service-%d.shop", i))
	}
	before, moved := allocate(names[:500], 1<<16), 0
	for name, offset := range allocate(names, 1<<16) {
		if old, existed := before[name]; existed && old != offset {
			moved++
		}
	}
	if moved > 10 {
		t.Errorf("500 new names moved %d of 500", moved)
	}
}

// A full range leaves the last names without an address, and the others keep theirs.
func TestAllocationOfFullRange(t *testing.T) {
	var names []string
	for i := range 40 {
		names = append(names, fmt.Sprintf("service-%d.shop", i))
	}
	got := allocate(names, 16)
	if len(got) != 15 {
		t.Errorf("%d names have an address: %v", len(got), got)
	}
	if again := allocate(slices.Sorted(maps.Keys(got)), 16); !maps.Equal(got, again) {
		t.Errorf("got %v, want %v", again, got)
	}
}

func TestAddressAt(t *testing.T) {
	for want, p := range map[string]string{"240.240.1.2": "240.240.0.0/16", "fd6d:6573:6800::102": "fd6d:6573:6800::/112"} {
		if got := addressAt(netip.MustParsePrefix(p), 0x102); got.String() != want {
			t.Errorf("%s: got %s, want %s", p, got, want)
		}
	}
}

// newMeshOf returns the mesh of services with the given names, without Kubernetes Services.
func newMeshOf(names []string, settings Settings) *Mesh {
	g := incremental.New()
	objects, m := NewObjects(g), NewModel(g)
	source := incremental.NewRelation[string](g, "names", strings.Compare, func(a, b string) bool { return a == b })
	r := incremental.NewRule(g, "services")
	incremental.Each(r, source, m.EmitsServices(r),
		func(services Output[model.Key, model.Service], name string, _ []string) {
			services.Emit(model.Service{
				Key:    model.Key{Mesh: "m", Name: name},
				Origin: model.NewOrigin(model.ObjectRef{Kind: "Service", Namespace: "shop", Name: name}),
			})
		})
	mesh := NewMesh(g, objects, m, settings)
	for _, name := range names {
		source.Set(name, name)
	}
	g.Run()
	return mesh
}

// Services for which the range has no address get a finding; the others keep their addresses.
func TestFullRangeIsAFinding(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("service-%d.shop", i))
	}
	mesh := newMeshOf(names, Settings{ReservedRanges: []netip.Prefix{
		netip.MustParsePrefix("240.0.0.0/28"), netip.MustParsePrefix("fd00::/124"),
	}})
	addressed := 0
	for _, s := range mesh.Snapshot().Services {
		if len(s.Reserved) == 2 && len(s.Addresses) == 0 {
			addressed++
		}
	}
	var missing int
	for _, f := range mesh.AllFindings() {
		if f.Code == model.CodeNoAddress && f.Severity == model.Warning {
			missing++
		}
	}
	if addressed != 15 || missing != 5 {
		t.Errorf("%d services have addresses, %d have a finding", addressed, missing)
	}
}
