package sidecar

import (
	"slices"

	"anymesh.dev/anymesh/model"
)

// OutboundRenderer is an optional interface of a Renderer. Workloads with the same backends share an outbound view. A
// renderer with this interface renders each outbound view once for all workloads that have it, instead of once for each
// workload. Its methods are pure functions.
//
// Render then returns only the resources that do not depend on the outbound view. It gets views with an empty
// OutboundView.
//
// The empty origin in Resource.Origins stands for the workload.
type OutboundRenderer interface {
	Renderer
	// RenderOutbound returns the resources of an outbound view, except for those of RenderBinding and RenderDestination,
	// and findings about the parts of the outbound view that it cannot render.
	RenderOutbound(mesh model.Mesh, outbound *model.OutboundView) ([]Resource, []model.Finding)
	// RenderBinding returns the resources that belong to one HTTP service on a port, and findings. find finds the
	// destinations of the outbound view. RenderBinding is not called again while the mesh, the port, the binding and the
	// results of find are the same, so that a change of one service does not render the others. It is called for bindings
	// of requests, not of streams.
	RenderBinding(mesh model.Mesh, port uint16, b model.Binding,
		find func(destination string) (model.Destination, bool)) ([]Resource, []model.Finding)
}

// Configuration returns all resources of a workload's sidecars: those of its view, of its outbound view and of its
// destinations.
func Configuration(r Renderer, view *model.View,
	resolve func(destination model.Key) (model.ResolvedDestination, bool)) ([]Resource, []model.Finding) {
	resources, findings := renderView(r, view)
	for _, d := range view.Destinations {
		if leads, ok := resolve(d.Key); ok {
			leads.Destination.TLS = d.TLS
			resources = append(resources, r.RenderDestination(leads)...)
		}
	}
	return resources, findings
}

func renderView(r Renderer, view *model.View) ([]Resource, []model.Finding) {
	shared, ok := r.(OutboundRenderer)
	if !ok {
		return r.Render(view)
	}
	own := *view
	own.OutboundView = model.OutboundView{}
	resources, findings := shared.Render(&own)
	ofOutbound, more := renderOutbound(shared, view.Mesh, &view.OutboundView)
	for i := range ofOutbound {
		ofOutbound[i].Origins = OriginsOf(ofOutbound[i].Origins, view.Workload.Origin)
	}
	return slices.Concat(resources, ofOutbound),
		model.SortFindings(slices.Concat(findings, FindingsOf(more, view.Workload.Origin)))
}

func renderOutbound(r OutboundRenderer, mesh model.Mesh, outbound *model.OutboundView) ([]Resource, []model.Finding) {
	resources, findings := r.RenderOutbound(mesh, outbound)
	resources, findings = slices.Clone(resources), slices.Clone(findings)
	for _, out := range outbound.Outbound {
		for _, b := range out.Bindings {
			if b.Protocol.Requests() {
				more, about := r.RenderBinding(mesh, out.Port, b, outbound.Destination)
				resources, findings = append(resources, more...), append(findings, about...)
			}
		}
	}
	return resources, findings
}

// FindingsOf returns the findings of an outbound view for a workload: those without an object are about the workload.
func FindingsOf(findings []model.Finding, workload model.Origin) []model.Finding {
	out := slices.Clone(findings)
	for i := range out {
		if out[i].Object == (model.ObjectRef{}) {
			out[i].Object = workload.Object()
		}
	}
	return out
}

// OriginsOf returns the origins of a resource of an outbound view for a workload: the empty origin is replaced by that
// of the workload. Without origins, the result is the origin of the workload.
func OriginsOf(origins []model.Origin, workload model.Origin) []model.Origin {
	if len(origins) == 0 {
		return []model.Origin{workload}
	}
	out := slices.Clone(origins)
	for i, o := range out {
		if o.IsZero() {
			out[i] = workload
		}
	}
	return out
}
