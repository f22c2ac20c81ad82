package native

import (
	"context"
	"fmt"
	"strings"
)

// restHop is a part of a session of a proxy.
type restHop struct {
	// Origin is the name of the cluster. A session that is not connected yet has none.
	Origin string `json:"origin"`
}

// restSession is what a proxy tells about a session. l7mp lists the parts of chains as null.
type restSession struct {
	Status      string     `json:"status"`
	Destination restHop    `json:"destination"`
	Ingress     []*restHop `json:"ingress"`
	Egress      []*restHop `json:"egress"`
}

// uses reports whether the session may be connected to a cluster.
func (s restSession) uses(cluster string) bool {
	if s.Status == "DESTROYED" {
		return false // it is listed for a while
	}
	for _, hop := range append(append(s.Ingress, s.Egress...), &s.Destination) {
		if hop == nil || hop.Origin == "" || hop.Origin == cluster {
			return true
		}
	}
	return false
}

// syncFormer gives clusters of the endpoints of the plan that another one replaces the endpoints of that, as long as
// they have sessions: these leave endpoints that go away. It returns the clusters that nobody needs.
func (s *restSync) syncFormer(ctx context.Context, p *restPlan, obsolete []string) (unused []string, err error) {
	var sessions []restSession
	known := false
	for _, name := range obsolete {
		successor := p.successor(name)
		if successor == nil {
			unused = append(unused, name)
			continue
		}
		if !known {
			if err := s.get(ctx, &sessions, "sessions"); err != nil {
				return nil, nil // they may be too many; the clusters stay
			}
			known = true
		}
		used := false
		for _, one := range sessions {
			used = used || one.uses(name)
		}
		if !used {
			unused = append(unused, name)
			continue
		}
		if err := s.syncEndpoints(ctx, successor.withName(name, s.state.endpoints[name])); err != nil {
			return unused, fmt.Errorf("endpoints of %s: %w", name, err)
		}
	}
	return unused, nil
}

// successor returns the cluster of the plan that replaces another one: their names differ in the hash only.
func (p *restPlan) successor(name string) *restObject {
	stem := name[:strings.LastIndexByte(name, '/')+1]
	for other, o := range p.objects[restClusters] {
		if strings.HasPrefix(other, stem) && strings.LastIndexByte(other, '/') == len(stem)-1 {
			return o
		}
	}
	return nil
}

// withName returns the cluster with another name, which the names of its endpoints begin with. The endpoints that the
// other cluster has stay as they are, also with another weight.
func (o *restObject) withName(name string, has map[string]bool) *restObject {
	known := map[string]string{} // by address
	for endpoint := range has {
		known[addressOf(name, endpoint)] = endpoint
	}
	out := *o
	out.name, out.endpoints = name, map[string]map[string]any{}
	for old, e := range o.endpoints {
		of := name + strings.TrimPrefix(old, o.name)
		if endpoint, is := known[addressOf(o.name, old)]; is {
			of = endpoint
		}
		out.endpoints[of] = map[string]any{"name": of, "spec": e["spec"], "weight": e["weight"]}
	}
	return &out
}

// addressOf returns the address in the name of an endpoint of a cluster.
func addressOf(cluster, endpoint string) string {
	address := strings.TrimPrefix(endpoint, cluster+"/")
	if i := strings.LastIndex(address, weightMark); i >= 0 {
		address = address[:i]
	}
	return address
}
