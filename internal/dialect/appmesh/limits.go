package appmesh

import (
	"fmt"
	"unicode/utf8"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// What App Mesh itself refused, behind the API server, in fields that are not honored yet.
const (
	maxLogText  = 1000 // characters
	maxLogField = 100  // characters of a key or a value
	maxName     = 254  // characters of a subject alternative name
)

// checkLimits reports what App Mesh refused of a VirtualNode although its schema takes it.
func (t *translator) checkLimits(m *meshMember[*api.VirtualNode]) {
	spec := m.object.Spec
	for i, l := range spec.Listeners {
		at := fmt.Sprintf("spec.listeners[%d].", i)
		if l.HealthCheck != nil {
			t.checkedPort(m.origin.At(at+"healthCheck.port"), l.HealthCheck.Port, l.PortMapping.Port)
		}
		if l.TLS != nil && l.TLS.Validation != nil {
			t.names(m.origin, at+"tls.validation", l.TLS.Validation.SubjectAlternativeNames)
		}
	}
	t.defaultNames(m.origin, spec.BackendDefaults)
	for i, b := range spec.Backends {
		t.policyNames(m.origin, fmt.Sprintf("spec.backends[%d].virtualService.clientPolicy", i),
			b.VirtualService.ClientPolicy)
	}
	t.logFormat(m.origin, spec.Logging)
}

// checkGatewayLimits does the same for a VirtualGateway, which is not served yet.
func (t *translator) checkGatewayLimits(origin model.Origin, spec api.VirtualGatewaySpec) {
	for i, l := range spec.Listeners {
		at := fmt.Sprintf("spec.listeners[%d].", i)
		if l.HealthCheck != nil {
			t.checkedPort(origin.At(at+"healthCheck.port"), l.HealthCheck.Port, l.PortMapping.Port)
		}
		if l.TLS != nil && l.TLS.Validation != nil {
			t.names(origin, at+"tls.validation", l.TLS.Validation.SubjectAlternativeNames)
		}
	}
	t.defaultNames(origin, spec.BackendDefaults)
	t.logFormat(origin, spec.Logging)
}

func (t *translator) checkedPort(at model.Origin, port *api.PortNumber, listener api.PortNumber) {
	if port != nil && *port != listener {
		t.report(at, model.CodeInvalidField, "%d is not the listener's port %d", *port, listener)
	}
}

func (t *translator) defaultNames(at model.Origin, d *api.BackendDefaults) {
	if d != nil {
		t.policyNames(at, "spec.backendDefaults.clientPolicy", d.ClientPolicy)
	}
}

func (t *translator) policyNames(at model.Origin, path string, p *api.ClientPolicy) {
	if requestsTLS(p) {
		t.names(at, path+".tls.validation", p.TLS.Validation.SubjectAlternativeNames)
	}
}

func (t *translator) names(at model.Origin, path string, names *api.SubjectAlternativeNames) {
	if names == nil {
		return
	}
	for i, name := range names.Match.Exact {
		t.atMost(maxName, at.At(fmt.Sprintf("%s.subjectAlternativeNames.match.exact[%d]", path, i)), name)
	}
}

func (t *translator) logFormat(at model.Origin, l *api.Logging) {
	if l == nil || l.AccessLog == nil || l.AccessLog.File == nil || l.AccessLog.File.Format == nil {
		return
	}
	f := l.AccessLog.File.Format
	const path = "spec.logging.accessLog.file.format"
	t.atMost(maxLogText, at.At(path+".text"), deref(f.Text))
	for i, e := range f.JSON {
		t.atMost(maxLogField, at.At(fmt.Sprintf("%s.json[%d].key", path, i)), e.Key)
		t.atMost(maxLogField, at.At(fmt.Sprintf("%s.json[%d].value", path, i)), e.Value)
	}
}

// atMost reports a text of more than so many characters.
func (t *translator) atMost(limit int, at model.Origin, text string) {
	if n := utf8.RuneCountInString(text); n > limit {
		t.report(at, model.CodeInvalidField, "has %d characters; at most %d", n, limit)
	}
}
