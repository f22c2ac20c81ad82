package delivery

import (
	"cmp"
	"strings"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// renderedPort are the rendered bindings of an outbound port. All lists have the order of its bindings, by service and
// protocol.
type renderedPort struct {
	number    uint16
	bindings  []model.Binding
	resources []resources       // nil without clients
	findings  [][]model.Finding // nil if there are none
}

func (p *renderedPort) resourcesOf(i int) resources {
	if p.resources == nil {
		return nil
	}
	return p.resources[i]
}

func (p *renderedPort) findingsOf(i int) []model.Finding {
	if p.findings == nil {
		return nil
	}
	return p.findings[i]
}

func (p *renderedPort) addFindings(i int, findings []model.Finding) {
	if len(findings) == 0 {
		return
	}
	if p.findings == nil {
		p.findings = make([][]model.Finding, len(p.bindings))
	}
	p.findings[i] = findings
}

// renderPorts renders the bindings of requests that changed.
func (d *Deliverer) renderPorts(next *difference) error {
	driver, ok := d.renderer.(sidecar.OutboundRenderer)
	if !ok {
		return nil
	}
	var before []renderedPort
	if !next.first {
		before = next.view.ports
	}
	for i := range next.now.Outbound {
		out := &next.now.Outbound[i]
		for len(before) > 0 && before[0].number < out.Port { // both lists are sorted
			next.remove(before[0].resources...)
			before = before[1:]
		}
		var old renderedPort
		if len(before) > 0 && before[0].number == out.Port {
			old, before = before[0], before[1:]
		}
		port, err := next.renderPort(driver, old, out)
		if err != nil {
			return err
		}
		next.ports = append(next.ports, port)
	}
	for _, left := range before {
		next.remove(left.resources...)
	}
	return nil
}

// renderPort renders the bindings that differ from those of an old version of the port.
func (c *difference) renderPort(driver sidecar.OutboundRenderer, old renderedPort,
	out *model.Outbound) (renderedPort, error) {
	if c.sameMesh && old.bindings != nil && sameList(old.bindings, out.Bindings) {
		return old, nil
	}
	port := renderedPort{number: out.Port, bindings: out.Bindings}
	if c.publish {
		port.resources = make([]resources, len(out.Bindings))
	}
	at := 0 // in the old version
	for i := range out.Bindings {
		b := &out.Bindings[i]
		for ; at < len(old.bindings) && compareBindings(&old.bindings[at], b) < 0; at++ {
			c.remove(old.resourcesOf(at))
		}
		var of resources
		var findings []model.Finding
		same := false
		if at < len(old.bindings) && compareBindings(&old.bindings[at], b) == 0 {
			of, findings, same = old.resourcesOf(at), old.findingsOf(at), c.sameMesh && old.bindings[at].Same(b)
			at++
		}
		if !same && b.Protocol.Requests() {
			var rendered []sidecar.Resource
			rendered, findings = driver.RenderBinding(c.mesh, out.Port, *b, c.now.Destination)
			var err error
			if of, err = c.render(of, rendered); err != nil {
				return port, err
			}
		}
		if c.publish {
			port.resources[i] = of
		}
		port.addFindings(i, findings)
	}
	for ; at < len(old.bindings); at++ {
		c.remove(old.resourcesOf(at))
	}
	return port, nil
}

func compareBindings(a, b *model.Binding) int {
	return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(string(a.Protocol), string(b.Protocol)))
}
