package delivery

import (
	"reflect"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// bindingKey identifies a binding in an outbound view.
type bindingKey struct {
	port     uint16
	service  string
	protocol model.Protocol
}

// binding is a rendered binding. It is rendered again if the binding or one of its destinations changes.
type binding struct {
	source model.Binding
	// found are the destinations that the driver looked up; a nil value means that the destination does not exist.
	found     map[string]*model.Destination
	resources resources
	findings  []model.Finding
}

// addBindings adds the resources and findings of all bindings of requests to an outbound view. It takes bindings that
// did not change from before.
func (d *Deliverer) addBindings(next, before *outboundView, now *model.OutboundView) error {
	driver, ok := d.renderer.(sidecar.OutboundRenderer)
	if !ok {
		return nil
	}
	keepsMesh := before.rendered && reflect.DeepEqual(before.mesh, next.mesh)
	for _, out := range now.Outbound {
		for i := range out.Bindings {
			source := &out.Bindings[i]
			if !source.Protocol.Requests() {
				continue
			}
			key := bindingKey{out.Port, source.Service, source.Protocol}
			b := before.bindings[key]
			if b == nil || !keepsMesh || !b.current(source, now) {
				var err error
				if b, err = renderBinding(driver, next.mesh, out.Port, *source, now); err != nil {
					return err
				}
			}
			next.bindings[key] = b
			next.findings = append(next.findings, b.findings...)
			for ref, r := range b.resources {
				if err := next.resources.add(ref, r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func renderBinding(driver sidecar.OutboundRenderer, mesh model.Mesh, port uint16, source model.Binding,
	in *model.OutboundView) (*binding, error) {
	b := &binding{source: source, found: map[string]*model.Destination{}}
	rendered, findings := driver.RenderBinding(mesh, port, source, func(name string) (model.Destination, bool) {
		d, ok := in.Destination(name)
		b.found[name] = nil
		if ok {
			b.found[name] = &d
		}
		return d, ok
	})
	var err error
	b.findings = findings
	b.resources, err = encode(rendered, nil)
	return b, err
}

// current reports whether the resources are those of the binding in an outbound view.
func (b *binding) current(source *model.Binding, in *model.OutboundView) bool {
	for name, before := range b.found {
		i, ok := in.DestinationIndex(name)
		if ok != (before != nil) || ok && !reflect.DeepEqual(before, &in.Destinations[i]) {
			return false
		}
	}
	return reflect.DeepEqual(&b.source, source)
}
