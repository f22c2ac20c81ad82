package store

import (
	"cmp"
	"strings"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// WorkloadView is the part of a view that only its workload has.
type WorkloadView struct {
	// View has no outbound view.
	View model.View
	// OutboundKey is the key of the view's outbound view.
	OutboundKey model.OutboundKey
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

	// requests has an entry for each workload with the outbound view.
	requests  *incremental.Relation[model.OutboundKey, *model.OutboundRequest]
	reachable *incremental.Relation[model.Key, *model.ReachableService]
	// conflicts change less often than outbound views: findings do not depend on routes.
	conflicts *incremental.Relation[model.OutboundKey, model.PortConflict]
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
		requests: incremental.NewRelation[model.OutboundKey](g, "requests", func(_, _ *model.OutboundRequest) int {
			return 0
		}, func(_, _ *model.OutboundRequest) bool { return true }), // the key is a hash of the request
		reachable: incremental.NewRelation[model.Key](g, "reachable services",
			func(_, _ *model.ReachableService) int { return 0 }, deepEqual[*model.ReachableService]),
		conflicts: incremental.NewRelation[model.OutboundKey](g, "port conflicts", func(a, b model.PortConflict) int {
			return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Text, b.Text))
		}, func(a, b model.PortConflict) bool { return a == b }),
	}
	r.Views.TrackChanges()
	r.OutboundViews.TrackChanges()
	return r
}

// addViewRules adds the rules that derive views. A change of a route evaluates its service and each outbound view with
// the service, but no workloads.
func (m *Mesh) addViewRules(g *incremental.Graph) {
	incremental.AddRule(g, "reachable service", m.addressed, m.reachService)
	incremental.AddRule(g, "view", m.Workloads, m.viewWorkload)
	incremental.AddRule(g, "outbound view", m.requests, m.outboundView)
	incremental.AddRule(g, "port conflicts", m.Views, m.reportConflicts)
}

func (m *Mesh) reachService(t *incremental.Evaluation, key model.Key, _ []model.Service) {
	if s, ok := model.NewReachableService(reader{t, m}, key); ok {
		m.reachable.Emit(t, key, s)
	}
}

func (m *Mesh) viewWorkload(t *incremental.Evaluation, key model.Key, _ []model.Workload) {
	view, request, ok := model.NewWorkloadView(reader{t, m}, key)
	if !ok {
		return // its mesh does not exist; the dialect reports a finding
	}
	outbound := request.Key()
	m.Views.Emit(t, key, &WorkloadView{view, outbound})
	m.requests.Emit(t, outbound, &request)
}

func (m *Mesh) outboundView(t *incremental.Evaluation, key model.OutboundKey, all []*model.OutboundRequest) {
	reader := reader{t, m}
	var before *model.OutboundView
	if last, known := m.OutboundViews.LastEmitted(t, key); known {
		before = &last.OutboundView
	}
	outbound, ok := model.NewOutboundView(reader, *all[0], before)
	if !ok {
		return
	}
	mesh, _ := reader.Mesh(key.Mesh)
	m.OutboundViews.Emit(t, key, &OutboundView{mesh, outbound})
	for _, c := range outbound.Conflicts() {
		m.conflicts.Emit(t, key, c)
	}
}

func (m *Mesh) reportConflicts(t *incremental.Evaluation, _ model.Key, all []*WorkloadView) {
	for _, f := range all[0].View.ConflictFindings(m.conflicts.Read(t, all[0].OutboundKey)) {
		m.Report(t, f)
	}
}

// View returns the whole view of a workload.
func (m *Mesh) View(workload model.Key) (*model.View, bool) {
	own, ok := m.Views.GetFirst(workload)
	if !ok {
		return nil, false
	}
	view := own.View
	if outbound, known := m.OutboundViews.GetFirst(own.OutboundKey); known {
		view.OutboundView = outbound.OutboundView
	}
	return &view, true
}
