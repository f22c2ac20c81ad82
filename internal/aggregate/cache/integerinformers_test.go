package cache_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"anymesh.dev/anymesh/internal/aggregate/cache"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
)

// TestInformersWithIntegersEqualTheUnion is TestInformersEqualTheUnion with integers, which informers resume from.
func TestInformersWithIntegersEqualTheUnion(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	options := fast
	options.WindowEvents, options.Integers = 40, true
	m := &changingFleet{newFleet(t, 3, options), rand.New(rand.NewPCG(seed, 0)), 1 << 40}
	for _, member := range m.members {
		member.Restore(m.earlier())
	}
	front := newFront(t, m.fleet)
	var informers []informer
	for _, v := range []view{{}, {label: "app=a"}} {
		informers = append(informers, startInformer(t, front.client(), v, true), startInformer(t, front.client(), v, false))
	}
	for step := range 75 {
		m.change()
		if step%25 != 24 {
			continue
		}
		for _, member := range m.members {
			member.Set(membertest.Faults{})
		}
		m.synced()
		for _, i := range informers {
			selector, err := labels.Parse(i.view.label)
			if err != nil {
				t.Fatal(err)
			}
			l, err := m.List(t.Context(), pods, cache.ListOptions{Selection: cache.Selection{Labels: selector}})
			if err != nil {
				t.Fatal(err)
			}
			want := stateOf(l)
			eventually(t, func() error {
				got := map[string]string{}
				for _, o := range i.store.List() {
					p := o.(*corev1.Pod)
					got[p.Name] = p.ResourceVersion
				}
				if !maps.Equal(got, want) {
					return fmt.Errorf("informer %s has\n%v, want\n%v", i.name, got, want)
				}
				return nil
			})
		}
	}
}

// changingFleet is a fleet with random changes.
type changingFleet struct {
	*fleet
	random *rand.Rand
	// version is below those of all members.
	version uint64
}

// earlier returns a version below all others: a backup that is restored twice must not repeat versions.
func (f *changingFleet) earlier() uint64 {
	f.version -= 1 << 20
	return f.version
}

// change changes something. Pods of different clusters have different names.
func (f *changingFleet) change() {
	random := f.random
	i := random.IntN(len(f.members))
	member := f.members[i]
	name := fmt.Sprintf("%c%d-c%d", 'a'+rune(random.IntN(2)), random.IntN(12), i+1)
	switch action := random.IntN(100); {
	case action < 45:
		o := pod(name, fmt.Sprint(action))
		if random.IntN(4) == 0 {
			o["metadata"].(membertest.Object)["labels"] = membertest.Object{"app": "other"}
		}
		member.Put(podPath, o)
	case action < 65:
		member.Delete(podPath, "default", name)
	case action < 74:
		member.CloseWatches()
	case action < 80:
		member.Compact()
		member.CloseWatches()
	case action < 84:
		member.Set(membertest.Faults{Unreachable: true})
	case action < 90:
		member.Set(membertest.Faults{NoBookmarks: true})
	case action < 93:
		member.Set(membertest.Faults{})
	case action < 96:
		f.joined[i] = !f.joined[i]
		f.configure()
	case action < 98:
		f.identities[i] += "x"
		f.configure()
	case action < 99:
		member.Restore(f.earlier())
	default:
		for n := range 60 { // More than the window.
			member.Put(podPath, pod(fmt.Sprintf("%c%d-c%d", 'a'+rune(n%2), n%12, i+1), "burst"))
		}
	}
}
