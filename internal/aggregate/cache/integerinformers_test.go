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
	m := model{fleet: newFleet(t, 3, options), random: rand.New(rand.NewPCG(seed, 0))}
	informers := startInformers(t, m.serve().URL)
	for step := range 75 {
		m.step()
		if step%25 != 24 {
			continue
		}
		for _, member := range m.members {
			member.Set(membertest.Faults{})
		}
		m.synced()
		for _, i := range informers {
			selector, err := labels.Parse(i.selector)
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
