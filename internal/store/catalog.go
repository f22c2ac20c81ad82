package store

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// catalog implements model.Catalog for a rule: reads become dependencies of the evaluation.
type catalog struct {
	settings        Settings
	meshes          *incremental.Reader[string, model.Mesh]
	workloads       *incremental.Reader[model.Key, model.Workload]
	modes           *incremental.Reader[model.Key, model.DNSMode]
	addressed       *incremental.Reader[model.Key, model.Service]
	serviceNames    *incremental.Reader[string, string]
	routers         *incremental.Reader[model.Key, model.Router]
	destinations    *incremental.Reader[model.Key, model.Destination]
	policies        *incremental.Reader[model.Key, model.AuthorizationPolicy]
	groups          *incremental.Reader[model.Key, model.ServiceGroup]
	clusterServices *incremental.Reader[types.NamespacedName, *corev1.Service]
}

// readsCatalog declares that a rule reads the items of a model.Catalog.
func (m *Mesh) readsCatalog(r *incremental.Rule) *catalog {
	return &catalog{
		settings: m.settings, meshes: incremental.Reads(r, m.Meshes), workloads: incremental.Reads(r, m.Workloads),
		modes: incremental.Reads(r, m.modes), addressed: incremental.Reads(r, m.addressed),
		serviceNames: incremental.Reads(r, m.serviceNames), routers: incremental.Reads(r, m.Routers),
		destinations: incremental.Reads(r, m.Destinations), policies: incremental.Reads(r, m.AuthorizationPolicies),
		groups:          incremental.Reads(r, m.ServiceGroups),
		clusterServices: incremental.Reads(r, m.clusterServices),
	}
}

func (c *catalog) Mesh(name string) (model.Mesh, bool) { return c.meshes.ReadFirst(name) }

func (c *catalog) Workload(key model.Key) (model.Workload, bool) {
	w, ok := c.workloads.ReadFirst(key)
	w.DNS = c.settings.modeOf(c.modes.ReadFirst(key))
	return w, ok
}

func (c *catalog) Service(key model.Key) (*model.Service, bool) {
	return firstOf(c.addressed.Read(key))
}
func (c *catalog) ServiceNames(mesh string) []string         { return c.serviceNames.Read(mesh) }
func (c *catalog) Router(key model.Key) (model.Router, bool) { return c.routers.ReadFirst(key) }

func (c *catalog) Destination(key model.Key) (*model.Destination, bool) {
	d, ok := firstOf(c.destinations.Read(key))
	if !ok {
		return nil, false
	}
	if name, is := ServiceName(d.Discovery.DNSName, ""); is {
		if _, known := c.clusterServices.ReadFirst(name); known {
			own := *d
			own.Discovery.DNSName = "" // the DNS of the cluster answers it
			return &own, true
		}
	}
	return d, true
}

// firstOf returns a reference to the first entry of a key.
func firstOf[V any](all []V) (*V, bool) {
	if len(all) == 0 {
		return nil, false
	}
	return &all[0], true
}

func (c *catalog) ServiceGroup(key model.Key) (model.ServiceGroup, bool) {
	return c.groups.ReadFirst(key)
}

func (c *catalog) AuthorizationPolicies(workload model.Key) []model.AuthorizationPolicy {
	return c.policies.Read(workload)
}

// workloadCatalog implements model.WorkloadCatalog for a rule.
type workloadCatalog struct {
	*catalog
	requestPorts *incremental.Reader[model.Key, uint16]
}

func (c *workloadCatalog) RequestPorts(service model.Key) []uint16 {
	return c.requestPorts.Read(service)
}

// outboundCatalog implements model.OutboundCatalog for a rule.
type outboundCatalog struct {
	*catalog
	reachable *incremental.Reader[model.Key, *model.ReachableService]
}

func (c *outboundCatalog) ReachableService(key model.Key) (*model.ReachableService, bool) {
	return c.reachable.ReadFirst(key)
}
