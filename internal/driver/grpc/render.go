package grpc

import (
	"fmt"
	"unique"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Render returns the listeners of the workload's servers, and a listener and routes for each service that it calls.
func (Driver) Render(v *model.View) ([]sidecar.Resource, []model.Finding) {
	r := renderer{view: v}
	for _, in := range v.Inbound {
		r.server(in.Listener)
	}
	for _, out := range v.Outbound {
		for _, b := range out.Bindings {
			if b.Protocol == model.GRPC { // others are reported as unsupported features
				r.service(out.Port, b)
			}
		}
	}
	for _, d := range v.Destinations {
		if why := unsupportedTLS(d.TLS); why != "" {
			r.report(d.Origin, "connections to %s are not opened: %s", d.Name, why)
		}
	}
	return r.resources, model.SortFindings(r.findings)
}

// renderer collects the resources of one view.
type renderer struct {
	view      *model.View
	resources []sidecar.Resource
	findings  []model.Finding
}

func (r *renderer) add(name string, m proto.Message, origins ...model.Origin) {
	r.resources = append(r.resources, newResource(name, m, origins...))
}

func (r *renderer) report(at model.Origin, format string, args ...any) {
	r.findings = append(r.findings,
		model.NewFinding(at, model.CodeNotSupported, "driver grpc: "+fmt.Sprintf(format, args...)))
}

// newResource encodes a message deterministically as a resource.
func newResource(name string, m proto.Message, origins ...model.Origin) sidecar.Resource {
	a := typedConfig(m)
	return sidecar.Resource{Type: unique.Make(a.TypeUrl).Value(), Name: name, Body: a.Value, Origins: origins}
}

func typedConfig(m proto.Message) *anypb.Any {
	a := new(anypb.Any)
	if err := anypb.MarshalFrom(a, m, proto.MarshalOptions{Deterministic: true}); err != nil {
		// valid: all strings come from JSON
		panic(fmt.Sprintf("grpc: %T does not encode: %v", m, err))
	}
	return a
}
