package store

import (
	"cmp"
	"strings"

	"anymesh.dev/anymesh/internal/engine/incremental"
	"anymesh.dev/anymesh/model"
)

// WorkloadView is the part of a view that only its workload has.
type WorkloadView struct {
	// View has no reach.
	View model.View
	// Reach is the key of the view's reach.
	Reach model.ReachKey
}

// Reach is a reach with its mesh.
type Reach struct {
	Mesh model.Mesh
	model.Reach
}

// viewRelations hold the views of workloads in parts, so that a part that workloads share is evaluated once.
type viewRelations struct {
	Views   *incremental.Relation[model.Key, *WorkloadView]
	Reaches *incremental.Relation[model.ReachKey, *Reach]

	// requests has an entry for each workload with the reach.
	requests  *incremental.Relation[model.ReachKey, *model.ReachRequest]
	reachable *incremental.Relation[model.Key, *model.ReachableService]
	// conflicts change less often than reaches: findings do not depend on routes.
	conflicts *incremental.Relation[model.ReachKey, model.PortConflict]
}

func newViewRelations(g *incremental.Graph) viewRelations {
	r := viewRelations{
		Views: incremental.NewRelation[model.Key](g, "views", func(*WorkloadView, *WorkloadView) int {
			return 0
		}, deepEqual[*WorkloadView]),
		Reaches: incremental.NewRelation[model.ReachKey](g, "reaches", func(*Reach, *Reach) int {
			return 0
		}, deepEqual[*Reach]),
		requests: incremental.NewRelation[model.ReachKey](g, "requests", func(_, _ *model.ReachRequest) int {
			return 0
		}, func(_, _ *model.ReachRequest) bool { return true }), // the key is a hash of the request
		reachable: incremental.NewRelation[model.Key](g, "reachable services",
			func(_, _ *model.ReachableService) int { return 0 }, deepEqual[*model.ReachableService]),
		conflicts: incremental.NewRelation[model.ReachKey](g, "port conflicts", func(a, b model.PortConflict) int {
			return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Text, b.Text))
		}, func(a, b model.PortConflict) bool { return a == b }),
	}
	r.Views.TrackChanges()
	r.Reaches.TrackChanges()
	return r
}

// addViewRules adds the rules that derive views. A change of a route evaluates its service and each reach with the
// service, but no workloads.
func (m *Mesh) addViewRules(g *incremental.Graph) {
	incremental.AddRule(g, "reachable service", m.addressed, m.reachService)
	incremental.AddRule(g, "view", m.Workloads, m.viewWorkload)
	incremental.AddRule(g, "reach", m.requests, m.reach)
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
	reach := request.Key()
	m.Views.Emit(t, key, &WorkloadView{view, reach})
	m.requests.Emit(t, reach, &request)
}

func (m *Mesh) reach(t *incremental.Evaluation, key model.ReachKey, all []*model.ReachRequest) {
	reader := reader{t, m}
	reach, conflicts, ok := model.NewReach(reader, *all[0])
	if !ok {
		return
	}
	mesh, _ := reader.Mesh(key.Mesh)
	m.Reaches.Emit(t, key, &Reach{mesh, reach})
	for _, c := range conflicts {
		m.conflicts.Emit(t, key, c)
	}
}

func (m *Mesh) reportConflicts(t *incremental.Evaluation, _ model.Key, all []*WorkloadView) {
	for _, f := range all[0].View.ConflictFindings(m.conflicts.Read(t, all[0].Reach)) {
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
	if reach, known := m.Reaches.GetFirst(own.Reach); known {
		view.Reach = reach.Reach
	}
	return &view, true
}
