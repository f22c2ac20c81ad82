package cluster

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// Each address of a name is an endpoint. Addresses that stay are the same endpoint, and a failure changes nothing.
func TestEachAddress(t *testing.T) {
	var answers []netip.Addr
	var failure error
	c := New("c", false, &config.Cluster{Spec: config.ClusterSpec{Protocol: config.TCP}, EachAddress: true})
	c.Resolve = func(context.Context, string) ([]netip.Addr, error) { return answers, failure }
	named := &Endpoint{Name: "e", Address: "a.example:80", Weight: 1}
	c.SetEndpoints([]*Endpoint{named})
	targets := func() (all []string) {
		for _, e := range c.Targets() {
			all = append(all, e.Address)
		}
		return all
	}
	var kept *Endpoint
	for _, step := range []struct {
		answers []string
		failure error
		want    []string
	}{
		{nil, errors.New("no server"), []string{"a.example:80"}},
		{[]string{"10.0.0.2", "10.0.0.1"}, nil, []string{"10.0.0.1:80", "10.0.0.2:80"}},
		{nil, errors.New("no server"), []string{"10.0.0.1:80", "10.0.0.2:80"}},
		{[]string{"10.0.0.3", "10.0.0.2"}, nil, []string{"10.0.0.2:80", "10.0.0.3:80"}},
		{[]string{"10.0.0.2", "fd00::1"}, nil, []string{"[fd00::1]:80"}},
	} {
		answers, failure = nil, step.failure
		for _, a := range step.answers {
			answers = append(answers, netip.MustParseAddr(a))
		}
		c.resolve(t.Context(), named)
		if got := targets(); !slices.Equal(got, step.want) {
			t.Errorf("after %v, %v: got %v, want %v", step.answers, step.failure, got, step.want)
		}
		for _, e := range c.Targets() {
			if e.Address == "10.0.0.2:80" {
				if kept != nil && kept != e {
					t.Error("an address that stays is another endpoint")
				}
				kept = e
			}
		}
	}
	if all := c.Endpoints(); len(all) != 1 || all[0] != named {
		t.Errorf("got configured endpoints %v", all)
	}
	c.Spec.Family = 4
	c.resolve(t.Context(), named)
	if got := targets(); !slices.Equal(got, []string{"10.0.0.2:80"}) {
		t.Errorf("IPv4 only: got %v", got)
	}
	if e := c.Targets()[0]; e.owner.Load() != c {
		t.Error("the endpoint has no owner")
	}
}

// With health checks, an address is used after its first check only.
func TestEachAddressIsCheckedFirst(t *testing.T) {
	c := New("c", false, &config.Cluster{
		Spec: config.ClusterSpec{Protocol: config.TCP}, EachAddress: true, HealthCheck: &config.HealthCheck{Protocol: "TCP"},
	})
	c.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, nil
	}
	c.SetEndpoints([]*Endpoint{{Name: "e", Address: "a.example:80", Weight: 1}})
	c.Start(t.Context(), func(_ context.Context, _ *Cluster, e *Endpoint) error {
		if e.Address == "10.0.0.1:80" {
			return errors.New("it does not work")
		}
		return nil
	})
	defer c.Stop()
	for len(c.Targets()) < 2 {
		select {
		case <-t.Context().Done():
			t.Fatal("the name is not resolved")
		case <-time.After(time.Millisecond):
		}
	}
	for range 10 {
		if e, err := c.Pick(metadata.Tree{}, nil); err != nil || e.Address != "10.0.0.2:80" {
			t.Fatalf("got %v, error %v", e, err)
		}
	}
}
