package appmesh

import (
	"fmt"
	"unicode/utf8"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// Limits that the App Mesh service enforced, in addition to the schema.
const (
	maxLogText  = 1000 // characters
	maxLogField = 100  // characters of a key or a value
	maxName     = 254  // characters of a subject alternative name
)

// checkLimits reports fields of a VirtualNode that exceed the limits of App Mesh.
func (t *translator) checkLimits(m *meshMember[*api.VirtualNode]) {
	spec := m.object.Spec
	for i, l := range spec.Listeners {
		at := fmt.Sprintf("spec.listeners[%d].", i)
		if l.HealthCheck != nil {
			t.checkHealthCheckPort(m.origin.At(at+"healthCheck.port"), l.HealthCheck.Port, l.PortMapping.Port)
		}
		if l.TLS != nil && l.TLS.Validation != nil {
			t.checkNames(m.origin, at+"tls.validation", l.TLS.Validation.SubjectAlternativeNames)
		}
	}
	t.checkBackendDefaults(m.origin, spec.BackendDefaults)
	for i, b := range spec.Backends {
		if policy := b.VirtualService.ClientPolicy; policy != nil {
			t.checkClientPolicy(m.origin, backendPath(i)+".clientPolicy", policy)
		}
	}
	t.checkLogFormat(m.origin, spec.Logging)
}

// checkGatewayLimits is checkLimits for a VirtualGateway.
func (t *translator) checkGatewayLimits(origin model.Origin, spec api.VirtualGatewaySpec) {
	for i, l := range spec.Listeners {
		at := fmt.Sprintf("spec.listeners[%d].", i)
		if l.HealthCheck != nil {
			t.checkHealthCheckPort(origin.At(at+"healthCheck.port"), l.HealthCheck.Port, l.PortMapping.Port)
		}
		if l.TLS != nil && l.TLS.Validation != nil {
			t.checkNames(origin, at+"tls.validation", l.TLS.Validation.SubjectAlternativeNames)
		}
	}
	t.checkBackendDefaults(origin, spec.BackendDefaults)
	t.checkLogFormat(origin, spec.Logging)
}

func (t *translator) checkHealthCheckPort(at model.Origin, port *api.PortNumber, listener api.PortNumber) {
	if port != nil && *port != listener {
		t.report(at, model.CodeInvalidField, "%d is not the listener's port %d", *port, listener)
	}
}

func (t *translator) checkBackendDefaults(at model.Origin, d *api.BackendDefaults) {
	if d != nil {
		t.checkClientPolicy(at, "spec.backendDefaults.clientPolicy", d.ClientPolicy)
	}
}

func (t *translator) checkClientPolicy(at model.Origin, path string, p *api.ClientPolicy) {
	if hasTLS(p) {
		t.checkNames(at, path+".tls.validation", p.TLS.Validation.SubjectAlternativeNames)
	}
}

func (t *translator) checkNames(at model.Origin, path string, names *api.SubjectAlternativeNames) {
	if names == nil {
		return
	}
	for i, name := range names.Match.Exact {
		t.checkLength(maxName, at.At(fmt.Sprintf("%s.subjectAlternativeNames.match.exact[%d]", path, i)), name)
	}
}

func (t *translator) checkLogFormat(at model.Origin, l *api.Logging) {
	if l == nil || l.AccessLog == nil || l.AccessLog.File == nil || l.AccessLog.File.Format == nil {
		return
	}
	f := l.AccessLog.File.Format
	const path = "spec.logging.accessLog.file.format"
	t.checkLength(maxLogText, at.At(path+".text"), deref(f.Text))
	for i, e := range f.JSON {
		t.checkLength(maxLogField, at.At(fmt.Sprintf("%s.json[%d].key", path, i)), e.Key)
		t.checkLength(maxLogField, at.At(fmt.Sprintf("%s.json[%d].value", path, i)), e.Value)
	}
}

// checkLength reports a text that is longer than limit, in characters.
func (t *translator) checkLength(limit int, at model.Origin, text string) {
	if n := utf8.RuneCountInString(text); n > limit {
		t.report(at, model.CodeInvalidField, "has %d characters; the maximum is %d", n, limit)
	}
}
