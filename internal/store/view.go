package store

import (
	"cmp"
	"strings"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/model"
)

// WorkloadView is the part of a view that only its workload has. It refers to the entries of other relations.
type WorkloadView struct {
	mesh     *model.Mesh
	workload *model.Workload
	dns      model.DNSMode
	// routes are those of each listener of the workload; nil if no listener has any.
	routes   [][]model.Route
	policies []model.AuthorizationPolicy
	// OutboundKey is the key of the view's outbound view.
	OutboundKey model.OutboundKey
}

// view composes the view, without its outbound view.
func (w *WorkloadView) view() model.View {
	v := model.View{Mesh: *w.mesh, Workload: *w.workload, AuthorizationPolicies: w.policies}
	v.Workload.DNS = w.dns
	for i, l := range w.workload.Listeners {
		in := model.Inbound{Listener: l}
		if w.routes != nil {
			in.Routes = w.routes[i]
		}
		v.Inbound = append(v.Inbound, in)
	}
	return v
}

// OutboundView is an outbound view with its mesh.
type OutboundView struct {
	Mesh model.Mesh
	model.OutboundView
}

// viewRelations hold the views of workloads in parts, so that a part that workloads share is evaluated once.
type viewRelations struct {
	Views         *incremental.Relation[model.Key, *WorkloadView]
	OutboundViews *incremental.Relation[model.OutboundKey, *OutboundView]

	// sharing has the names of the workloads with the outbound view, requests the request of one of them: an outbound
	// view is not evaluated again for one more workload.
	sharing  *incremental.Relation[model.OutboundKey, string]
	requests *incremental.Relation[model.OutboundKey, *model.OutboundRequest]

	reachable *incremental.Relation[model.Key, *model.ReachableService]
	// requestPorts are the ports of services that take requests.
	requestPorts *incremental.Relation[model.Key, uint16]
	// conflicts change less often than outbound views: findings do not depend on routes.
	conflicts *incremental.Relation[model.OutboundKey, model.Conflict]
}

func newViewRelations(g *incremental.Graph) viewRelations {
	r := viewRelations{
		Views: incremental.NewRelation[model.Key](g, "views", func(*WorkloadView, *WorkloadView) int {
			return 0
		}, deepEqual[*WorkloadView]),
		OutboundViews: incremental.NewRelation[model.OutboundKey](g, "outbound views",
			func(*OutboundView, *OutboundView) int { return 0 }, func(a, b *OutboundView) bool {
				return a.OutboundView.MadeFrom(&b.OutboundView) && deepEqual(a.Mesh, b.Mesh)
			}),
		sharing: incremental.NewRelation[model.OutboundKey](g, "workloads of outbound views", strings.Compare,
			func(a, b string) bool { return a == b }),
		requests: incremental.NewRelation[model.OutboundKey](g, "requests",
			func(_, _ *model.OutboundRequest) int { return 0 },
			func(_, _ *model.OutboundRequest) bool { return true }), // the key is a hash of the request
		reachable: incremental.NewRelation[model.Key](g, "reachable services",
			func(_, _ *model.ReachableService) int { return 0 }, deepEqual[*model.ReachableService]),
		requestPorts: incremental.NewRelation[model.Key](g, "request ports", cmp.Compare[uint16],
			func(a, b uint16) bool { return a == b }),
		conflicts: incremental.NewRelation[model.OutboundKey](g, "conflicts", func(a, b model.Conflict) int {
			return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Text, b.Text))
		}, model.Conflict.Equal),
	}
	r.Views.TrackChanges()
	r.OutboundViews.TrackChanges()
	return r
}

// addViewRules adds the rules that derive views. A change of a route evaluates its service and each outbound view with
// the service, but no workloads.
func (m *Mesh) addViewRules(g *incremental.Graph) {
	r := incremental.NewRule(g, "reachable service")
	incremental.Each(r, m.addressed, reachableRule{
		m.readsCatalog(r), incremental.Emits(r, m.reachable), incremental.Emits(r, m.requestPorts),
	}, reachableRule.evaluate)
	r = incremental.NewRule(g, "view")
	incremental.Each(r, m.Workloads, viewRule{
		&workloadCatalog{m.readsCatalog(r), incremental.Reads(r, m.requestPorts)}, incremental.Emits(r, m.Views),
		incremental.Emits(r, m.sharing), m.EmitsFindings(r),
	}, viewRule.evaluate)
	r = incremental.NewRule(g, "request")
	incremental.Each(r, m.sharing, sharedRequestRule{incremental.Reads(r, m.Views), incremental.Emits(r, m.requests)},
		sharedRequestRule.evaluate)
	r = incremental.NewRule(g, "outbound view")
	incremental.Each(r, m.requests, outboundRule{
		&outboundCatalog{m.readsCatalog(r), incremental.Reads(r, m.reachable)},
		incremental.Emits(r, m.OutboundViews), incremental.Emits(r, m.conflicts),
	}, outboundRule.evaluate)
	r = incremental.NewRule(g, "conflicts")
	incremental.Each(r, m.Views, conflictRule{incremental.Reads(r, m.conflicts), m.EmitsFindings(r)},
		conflictRule.evaluate)
}

type reachableRule struct {
	*catalog
	reachable    *incremental.Emitter[model.Key, *model.ReachableService]
	requestPorts *incremental.Emitter[model.Key, uint16]
}

func (r reachableRule) evaluate(key model.Key, _ []model.Service) {
	if s, ok := model.NewReachableService(r.catalog, key); ok {
		r.reachable.Emit(key, s)
		for _, port := range s.RequestPorts() {
			r.requestPorts.Emit(key, port)
		}
	}
}

type viewRule struct {
	*workloadCatalog
	views    *incremental.Emitter[model.Key, *WorkloadView]
	sharing  *incremental.Emitter[model.OutboundKey, string]
	findings Output[model.ObjectRef, model.Finding]
}

func (r viewRule) evaluate(key model.Key, all []model.Workload) {
	view, request, findings, ok := model.NewWorkloadView(r.workloadCatalog, key)
	if !ok {
		return // its mesh does not exist; the dialect reports a finding
	}
	for _, f := range findings {
		r.findings.Emit(f)
	}
	own := &WorkloadView{
		mesh: &r.meshes.Read(key.Mesh)[0], workload: &all[0], dns: view.Workload.DNS,
		policies: view.AuthorizationPolicies, OutboundKey: request.Key(),
	}
	for i, in := range view.Inbound {
		if in.Routes != nil && own.routes == nil {
			own.routes = make([][]model.Route, len(view.Inbound))
		}
		if own.routes != nil {
			own.routes[i] = in.Routes
		}
	}
	r.views.Emit(key, own)
	r.sharing.Emit(own.OutboundKey, key.Name)
}

// sharedRequestRule emits the request of one of the workloads that share an outbound view.
type sharedRequestRule struct {
	views    *incremental.Reader[model.Key, *WorkloadView]
	requests *incremental.Emitter[model.OutboundKey, *model.OutboundRequest]
}

func (r sharedRequestRule) evaluate(key model.OutboundKey, workloads []string) {
	if own, ok := r.views.ReadFirst(model.Key{Mesh: key.Mesh, Name: workloads[0]}); ok {
		view := own.view()
		request := view.Request()
		r.requests.Emit(key, &request)
	}
}

type outboundRule struct {
	*outboundCatalog
	views     *incremental.Emitter[model.OutboundKey, *OutboundView]
	conflicts *incremental.Emitter[model.OutboundKey, model.Conflict]
}

func (r outboundRule) evaluate(key model.OutboundKey, all []*model.OutboundRequest) {
	var before *model.OutboundView
	if last, known := r.views.Last(key); known {
		before = &last.OutboundView
	}
	outbound, ok := model.NewOutboundView(r.outboundCatalog, *all[0], before)
	if !ok {
		return
	}
	mesh, _ := r.Mesh(key.Mesh)
	r.views.Emit(key, &OutboundView{mesh, outbound})
	for _, c := range outbound.Conflicts() {
		r.conflicts.Emit(key, c)
	}
}

type conflictRule struct {
	conflicts *incremental.Reader[model.OutboundKey, model.Conflict]
	findings  Output[model.ObjectRef, model.Finding]
}

func (r conflictRule) evaluate(_ model.Key, all []*WorkloadView) {
	conflicts := r.conflicts.Read(all[0].OutboundKey)
	if len(conflicts) == 0 {
		return
	}
	view := all[0].view()
	for _, f := range view.ConflictFindings(conflicts) {
		r.findings.Emit(f)
	}
}

// View returns the whole view of a workload.
func (m *Mesh) View(workload model.Key) (*model.View, bool) {
	own, ok := m.Views.GetFirst(workload)
	if !ok {
		return nil, false
	}
	view := own.view()
	if outbound, known := m.OutboundViews.GetFirst(own.OutboundKey); known {
		view.OutboundView = outbound.OutboundView
	}
	return &view, true
}
