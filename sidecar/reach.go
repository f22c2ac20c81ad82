package sidecar

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// ReachRenderer is an optional interface of a Renderer. Workloads with the same backends share a reach. A renderer with
// this interface renders each reach once for all workloads that have it, instead of once for each workload. Its methods
// are pure functions.
//
// Render then returns only the resources that do not depend on the reach. It gets views with an empty Reach.
//
// The empty origin in Resource.Origins stands for the workload.
type ReachRenderer interface {
	Renderer
	// RenderReach returns the resources of a reach, except for those of RenderBinding and RenderDestination, and findings
	// about the parts of the reach that it cannot render.
	RenderReach(mesh model.Mesh, reach *model.Reach) ([]Resource, []model.Finding)
	// RenderBinding returns the resources that belong to one HTTP service on a port, and findings. find finds the
	// destinations of the reach. RenderBinding is not called again while the mesh, the port, the binding and the
	// results of find are the same, so that a change of one service does not render the others. It is called for bindings
	// of requests, not of streams.
	RenderBinding(mesh model.Mesh, port uint16, b model.Binding,
		find func(destination string) (model.Destination, bool)) ([]Resource, []model.Finding)
}

// Configuration returns all resources of a workload's sidecars: those of its view, of its reach and of its destinations.
func Configuration(r Renderer, view *model.View,
	reach func(destination model.Key) (model.ResolvedDestination, bool)) ([]Resource, []model.Finding) {
	resources, findings := renderView(r, view)
	for _, d := range view.Destinations {
		if leads, ok := reach(d.Key); ok {
			resources = append(resources, r.RenderDestination(leads)...)
		}
	}
	return resources, findings
}

func renderView(r Renderer, view *model.View) ([]Resource, []model.Finding) {
	shared, ok := r.(ReachRenderer)
	if !ok {
		return r.Render(view)
	}
	own := *view
	own.Reach = model.Reach{}
	resources, findings := shared.Render(&own)
	ofReach, more := renderReach(shared, view.Mesh, &view.Reach)
	for i := range ofReach {
		ofReach[i].Origins = OriginsOf(ofReach[i].Origins, view.Workload.Origin)
	}
	return slices.Concat(resources, ofReach), model.SortFindings(slices.Concat(findings, more))
}

func renderReach(r ReachRenderer, mesh model.Mesh, reach *model.Reach) ([]Resource, []model.Finding) {
	resources, findings := r.RenderReach(mesh, reach)
	resources, findings = slices.Clone(resources), slices.Clone(findings)
	for _, out := range reach.Outbound {
		for _, b := range out.Bindings {
			if b.Protocol.Requests() {
				more, about := r.RenderBinding(mesh, out.Port, b, reach.Destination)
				resources, findings = append(resources, more...), append(findings, about...)
			}
		}
	}
	return resources, findings
}

// OriginsOf returns the origins of a resource of a reach for a workload: the empty origin is replaced by that of the
// workload. Without origins, the result is the origin of the workload.
func OriginsOf(origins []model.Origin, workload model.Origin) []model.Origin {
	if len(origins) == 0 {
		return []model.Origin{workload}
	}
	out := slices.Clone(origins)
	for i, o := range out {
		if o == (model.Origin{}) {
			out[i] = workload
		}
	}
	return out
}
