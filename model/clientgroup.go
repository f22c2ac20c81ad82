package model

import (
	"reflect"
	"slices"
	"strings"
)

// ServiceVariant is the router of a service for the workloads of a client group, in place of the router of the service.
// It has the same ports.
type ServiceVariant struct {
	ClientGroup string `json:"clientGroup"`
	Router      string `json:"router"`
}

// GroupAliases are further host names of a service for the workloads of a client group: a name without namespace means
// the service of the client's own.
type GroupAliases struct {
	ClientGroup string   `json:"clientGroup"`
	Aliases     []string `json:"aliases"`
}

// reachableVariant is what a service is for a client group.
type reachableVariant struct {
	group string
	*ReachableService
}

// of returns what the service is for workloads of client groups: its first variant for one of them, else itself, with
// the aliases for one of them.
func (s *ReachableService) of(groups []string) *ReachableService {
	out := s
	for _, v := range s.variants {
		if slices.Contains(groups, v.group) {
			out = v.ReachableService
			break
		}
	}
	if out.aliased != nil && slices.Contains(groups, s.Service.GroupAliases.ClientGroup) {
		return out.aliased
	}
	return out
}

// addAliased adds what the service is for workloads of the client group that has further names for it.
func (s *ReachableService) addAliased() {
	if more := s.Service.GroupAliases; more != nil {
		aliased := *s
		aliased.setHosts(slices.Concat(s.hosts, more.Aliases))
		s.aliased = &aliased
	}
}

// Takes reports whether an endpoint of the group or the workload of the destination gets traffic.
func (d *Destination) Takes(e *Endpoint) bool { return e.Ready && d.includes(e) }

// includes reports whether the identity of an endpoint is one of those that the destination is restricted to.
func (d *Destination) includes(e *Endpoint) bool {
	return len(d.Discovery.Identities) == 0 || slices.Contains(d.Discovery.Identities, e.Identity)
}

// equalExceptVariants reports whether both are equal, except for the clients and the routers of variants.
func (s *Service) equalExceptVariants(o *Service) bool {
	a, b := *s, *o
	a.Variants, b.Variants = nil, nil
	return reflect.DeepEqual(a, b)
}

func identityNames(all []Identity) string {
	names := make([]string, len(all))
	for i, id := range all {
		names[i] = id.String()
	}
	return strings.Join(names, ", ")
}
