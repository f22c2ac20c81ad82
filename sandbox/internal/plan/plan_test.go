package plan

import (
	"net/netip"
	"testing"
)

// TestRangesAreDistinct checks that the ranges of clusters do not overlap.
func TestRangesAreDistinct(t *testing.T) {
	lab, err := New("lab", "/state", MaxClusters)
	if err != nil {
		t.Fatal(err)
	}
	var all []netip.Prefix
	for _, c := range lab.Clusters {
		all = append(all, c.Pods4, c.Pods6, c.Services4, c.Services6, netip.PrefixFrom(c.Node4, 24).Masked(),
			netip.PrefixFrom(c.Node6, 64).Masked())
	}
	for i, a := range all {
		for _, b := range all[i+1:] {
			if a.Overlaps(b) {
				t.Errorf("%s overlaps %s", a, b)
			}
		}
	}
}

func TestAddresses(t *testing.T) {
	lab, err := New("lab", "/state", 2)
	if err != nil {
		t.Fatal(err)
	}
	c := lab.Clusters[1]
	last4, last6 := c.PodAddrs(65534)
	for _, test := range []struct {
		what string
		got  any
		want string
	}{
		{"name", c.Name, "c2"},
		{"API", c.APIService(), "10.142.0.1"},
		{"DNS", c.DNSService(), "10.142.0.10"},
		{"gateway", c.Gateway4(), "10.42.0.1"},
		{"last IPv4", last4, "10.42.255.254"},
		{"last IPv6", last6, "fd00:10:42::fffe"},
	} {
		t.Run(test.what, func(t *testing.T) {
			if a, ok := test.got.(netip.Addr); ok {
				test.got = a.String()
			}
			if test.got != test.want {
				t.Errorf("got %v, want %s", test.got, test.want)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	for _, test := range []struct {
		name, dir string
		n         int
	}{
		{"Lab", "/s", 1}, {"", "/s", 1}, {"a-", "/s", 1}, {"a/b", "/s", 1}, {"lab", "s", 1}, {"lab", "/s", 0}, {"lab", "/s", MaxClusters + 1},
	} {
		if l, err := New(test.name, test.dir, test.n); err == nil {
			t.Errorf("%+v: got %+v, want an error", test, l)
		}
	}
}
