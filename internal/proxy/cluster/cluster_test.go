package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

func endpoints(weights ...int) []*Endpoint {
	var all []*Endpoint
	for i, w := range weights {
		all = append(all, &Endpoint{Name: fmt.Sprintf("e%d", i), Address: fmt.Sprintf("10.0.0.%d:80", i), Weight: w})
	}
	return all
}

func newCluster(p config.Policy, key string, all []*Endpoint) *Cluster {
	c := New("c", false, &config.Cluster{LoadBalancer: config.LoadBalancer{Policy: p, Key: key}})
	c.SetEndpoints(all)
	return c
}

func call(i int) metadata.Tree {
	return metadata.Tree{Root: map[string]any{"labels": map[string]any{"id": fmt.Sprint(i)}}}
}

// Each policy gives endpoints the share of their weight, and none to those of the weight 0.
func TestWeights(t *testing.T) {
	for _, p := range []config.Policy{config.RoundRobin, config.Random, config.HashRing, config.Maglev} {
		c := newCluster(p, "/labels/id", endpoints(1, 0, 3, 4))
		count := map[string]int{}
		for i := range 8000 {
			e, err := c.Pick(call(i), nil)
			if err != nil {
				t.Fatal(err)
			}
			count[e.Name]++
		}
		for name, want := range map[string]int{"e0": 1000, "e1": 0, "e2": 3000, "e3": 4000} {
			if got := count[name]; math.Abs(float64(got-want)) > 0.25*float64(want) {
				t.Errorf("%s: endpoint %s got %d of 8000, want about %d", p, name, got, want)
			}
		}
	}
}

// Proxies with the same endpoints, added in any order, choose the same one.
func TestHashesIgnoreTheOrder(t *testing.T) {
	for _, p := range []config.Policy{config.HashRing, config.ConsistentHash, config.Maglev} {
		all := endpoints(1, 2, 1, 1, 3)
		other := slices.Clone(all)
		slices.Reverse(other)
		a, b := newCluster(p, "labels/id", all), newCluster(p, "/labels/id", other)
		for i := range 1000 {
			one, _ := a.Pick(call(i), nil)
			two, _ := b.Pick(call(i), nil)
			if one != two {
				t.Fatalf("%s: call %d: %s and %s", p, i, one.Name, two.Name)
			}
		}
	}
}

// Without one endpoint, only its own keys move.
func TestHashesAreStable(t *testing.T) {
	for _, p := range []config.Policy{config.HashRing, config.Maglev} {
		all := endpoints(1, 1, 1, 1)
		c, fewer := newCluster(p, "/labels/id", all), newCluster(p, "/labels/id", all[1:])
		moved := 0
		for i := range 1000 {
			before, _ := c.Pick(call(i), nil)
			after, _ := fewer.Pick(call(i), nil)
			if before != all[0] && before != after {
				moved++
			}
		}
		if limit := map[config.Policy]int{config.HashRing: 0, config.Maglev: 50}[p]; moved > limit {
			t.Errorf("%s: %d keys of other endpoints moved", p, moved)
		}
	}
}

// A retry goes to another endpoint while there is one.
func TestTriedEndpointsAreAvoided(t *testing.T) {
	for _, p := range []config.Policy{
		"", config.Trivial, config.RoundRobin, config.EqualRoundRobin, config.Random, config.LeastRequest, config.HashRing, config.Maglev,
	} {
		c := newCluster(p, "/labels/id", endpoints(1, 1, 1))
		var tried []*Endpoint
		for range 3 {
			e, err := c.Pick(call(1), tried)
			if err != nil || slices.Contains(tried, e) {
				t.Fatalf("%s: got %v (%v) after %d", p, e, err, len(tried))
			}
			tried = append(tried, e)
		}
		if e, err := c.Pick(call(1), tried); e == nil || err != nil {
			t.Errorf("%s: nothing to choose after all were tried: %v", p, err)
		}
	}
}

func TestNoEndpoint(t *testing.T) {
	for _, all := range [][]*Endpoint{nil, endpoints(0, 0)} {
		for _, p := range []config.Policy{
			config.RoundRobin, config.Random, config.LeastRequest, config.HashRing, config.Maglev,
		} {
			if e, err := newCluster(p, "", all).Pick(call(1), nil); err == nil {
				t.Errorf("%s: chose %s", p, e.Name)
			} else if !strings.Contains(err.Error(), "no healthy upstream") { // Envoy's words, which users search for
				t.Errorf("%s: the error is %v", p, err)
			}
		}
	}
}

func TestLeastRequestPrefersIdleEndpoints(t *testing.T) {
	all := endpoints(1, 1)
	all[0].Active.Store(10)
	c := newCluster(config.LeastRequest, "", all)
	count := 0
	for range 100 {
		if e, _ := c.Pick(call(1), nil); e == all[1] {
			count++
		}
	}
	if count < 60 {
		t.Errorf("the idle endpoint got %d of 100", count)
	}
}
