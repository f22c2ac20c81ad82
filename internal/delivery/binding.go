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

// binding is a rendered binding.
type binding struct {
	source    model.Binding
	resources resources
	findings  []model.Finding
}

// renderBindings renders the bindings of requests that changed, and adds them to the difference.
func (d *Deliverer) renderBindings(next *difference, before *outboundView, now *model.OutboundView) error {
	driver, ok := d.renderer.(sidecar.OutboundRenderer)
	if !ok {
		return nil
	}
	keepsMesh := before.rendered && reflect.DeepEqual(before.mesh, next.mesh)
	kept := 0
	for _, out := range now.Outbound {
		for i := range out.Bindings {
			source := &out.Bindings[i]
			if !source.Protocol.Requests() {
				continue
			}
			key := bindingKey{out.Port, source.Service, source.Protocol}
			b := before.bindings[key]
			if b == nil || !keepsMesh || !b.source.Same(source) {
				after, err := renderBinding(driver, next.mesh, out.Port, *source, now)
				if err != nil {
					return err
				}
				if err := next.replaceBinding(key, b, after); err != nil {
					return err
				}
				b = after
			}
			kept++
			next.findings = append(next.findings, b.findings...)
		}
	}
	if kept == len(before.bindings)+next.newBindings {
		return nil
	}
	return next.removeBindings(before, now)
}

// replaceBinding adds a binding in place of another one, which may be nil.
func (c *difference) replaceBinding(key bindingKey, before, after *binding) error {
	c.bindings[key] = after
	if before == nil {
		c.newBindings++
		return c.replace(nil, after.resources)
	}
	return c.replace(before.resources, after.resources)
}

// removeBindings removes the bindings that an outbound view no longer has.
func (c *difference) removeBindings(before *outboundView, now *model.OutboundView) error {
	still := map[bindingKey]bool{}
	for _, out := range now.Outbound {
		for _, b := range out.Bindings {
			still[bindingKey{out.Port, b.Service, b.Protocol}] = true
		}
	}
	for key, b := range before.bindings {
		if !still[key] {
			c.bindings[key] = nil
			if err := c.replace(b.resources, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func renderBinding(driver sidecar.OutboundRenderer, mesh model.Mesh, port uint16, source model.Binding,
	in *model.OutboundView) (*binding, error) {
	rendered, findings := driver.RenderBinding(mesh, port, source, in.Destination)
	encoded, err := encode(rendered, nil)
	return &binding{source: source, resources: encoded, findings: findings}, err
}
