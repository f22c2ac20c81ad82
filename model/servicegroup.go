package model

import "slices"

// ServiceGroup is a set of services that workloads may reach besides their backends. It is an item of its own, so that
// a change of its members changes no workload.
type ServiceGroup struct {
	Key
	// Members are the services, by name, each once. They have no client policies. Their Object is nil: it is that of the
	// group.
	Members []Backend `json:"members,omitempty"`
	Origin  Origin    `json:"origin,omitzero"`
}

// GroupReference is a group whose members a workload may reach.
type GroupReference struct {
	// Group is the name of the group. A group that does not exist has no members.
	Group string `json:"group"`
	// Path is the field of the workload's object that names the group. Content hashes ignore it, as an Origin.
	Path string `json:"path,omitempty"`
}

// MayReach reports whether a workload may reach a service of its mesh, because it is a backend or a member of a group.
func (ix *Index) MayReach(w Workload, service string) bool {
	is := func(b Backend) bool { return b.Service == service }
	return w.BackendsAll || slices.ContainsFunc(w.Backends, is) ||
		slices.ContainsFunc(w.ServiceGroups, func(ref GroupReference) bool {
			group, _ := ix.ServiceGroup(Key{w.Mesh, ref.Group})
			return slices.ContainsFunc(group.Members, is)
		})
}

// GroupOf returns the reference to the group through which the workload reaches a service. It reports false for other
// services.
func (v *View) GroupOf(service string) (GroupReference, bool) {
	for i := range v.groups {
		if v.services[i].Service.Name == service {
			return v.Workload.groupReference(v.groups[i])
		}
	}
	return GroupReference{}, false
}

// Through returns the object of the group through which a workload reaches a service; nil for other services.
func (ix *Index) Through(v *View, service string) *ObjectRef {
	ref, is := v.GroupOf(service)
	if !is {
		return nil
	}
	group, _ := ix.ServiceGroup(Key{v.Mesh.Name, ref.Group})
	object := group.Origin.Object()
	return &object
}

// groupReference returns the reference to a group.
func (w *Workload) groupReference(group string) (GroupReference, bool) {
	for _, ref := range w.ServiceGroups {
		if ref.Group == group {
			return ref, true
		}
	}
	return GroupReference{}, false
}
