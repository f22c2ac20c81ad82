package appmesh

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// Translate turns objects into the part of the model that they mean, in canonical order, and findings about them, in
// canonical order. There must be at most one object of a kind, namespace and name. A bad object, or a bad part of one,
// is left out and reported; the rest is served.
func (d Dialect) Translate(objects []client.Object) (model.Model, []model.Finding) {
	t := newTranslator(d.Settings, objects)
	for _, m := range t.nodes.served {
		t.virtualNode(m)
	}
	for _, m := range t.routers.served {
		t.virtualRouter(m)
	}
	for _, m := range t.services.served {
		t.virtualService(m)
	}
	t.unhonouredKinds()
	t.instances()
	return *t.out.Canonical(), model.SortFindings(t.findings)
}

// translator is the work in progress of one Translate.
type translator struct {
	settings Settings
	in       snapshot
	meshes   []*meshMember
	nodes    members[*api.VirtualNode]
	services members[*api.VirtualService]
	routers  members[*api.VirtualRouter]
	// ports are the ways to reach each VirtualNode, by name of the workload.
	ports map[model.Key][]nodePort
	// nodeRouters notes which VirtualNodes have a router of their own already, by name of the workload.
	nodeRouters map[model.Key]string
	// registry stands in for AWS Cloud Map.
	registry registry

	out      model.Model
	findings []model.Finding
}

func newTranslator(s Settings, objects []client.Object) *translator {
	t := &translator{settings: s, in: newSnapshot(objects), ports: map[model.Key][]nodePort{}, nodeRouters: map[model.Key]string{}}
	t.realm()
	t.nodes = join(t, api.KindVirtualNode, t.in.nodes)
	t.registry = newRegistry(t.nodes.served)
	t.services = join(t, api.KindVirtualService, t.in.services)
	t.routers = join(t, api.KindVirtualRouter, t.in.routers)
	return t
}

// nodePort is a listener of a VirtualNode as others see it.
type nodePort struct {
	model.Destination
	timeouts model.Timeouts
}

// report notes a finding with the severity of its code.
func (t *translator) report(at model.Origin, code model.Code, format string, args ...any) {
	t.findings = append(t.findings, model.NewFinding(at, code, fmt.Sprintf(format, args...)))
}

// warn notes a finding that leaves the object served as it is, whatever the code means for others.
func (t *translator) warn(at model.Origin, code model.Code, format string, args ...any) {
	f := model.NewFinding(at, code, fmt.Sprintf(format, args...))
	f.Severity = model.Warning
	t.findings = append(t.findings, f)
}

func deref[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}
