package appmesh

import (
	"fmt"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// What App Mesh itself refused, behind the API server, in fields that are not honoured yet.
const (
	maxLogText  = 1000 // characters
	maxLogField = 100  // characters of a key or a value
	maxName     = 254  // characters of a subject alternative name
)

// bounds reports what App Mesh refused of a VirtualNode although its schema takes it.
func (t *translator) bounds(m *member[*api.VirtualNode]) {
	spec := m.object.Spec
	for i, l := range spec.Listeners {
		at := fmt.Sprintf("spec.listeners[%d].", i)
		if h := l.HealthCheck; h != nil && h.Port != nil && *h.Port != l.PortMapping.Port {
			t.report(m.origin.At(at+"healthCheck.port"), model.CodeInvalidField, "%d is not the listener's port %d", *h.Port, l.PortMapping.Port)
		}
		if l.TLS != nil && l.TLS.Validation != nil {
			t.names(m.origin, at+"tls.validation", l.TLS.Validation.SubjectAlternativeNames)
		}
	}
	if d := spec.BackendDefaults; d != nil {
		t.policyNames(m.origin, "spec.backendDefaults.clientPolicy", d.ClientPolicy)
	}
	for i, b := range spec.Backends {
		t.policyNames(m.origin, fmt.Sprintf("spec.backends[%d].virtualService.clientPolicy", i), b.VirtualService.ClientPolicy)
	}
	if spec.Logging != nil && spec.Logging.AccessLog != nil && spec.Logging.AccessLog.File != nil {
		t.logFormat(m.origin, spec.Logging.AccessLog.File.Format)
	}
}

func (t *translator) policyNames(at model.Origin, path string, p *api.ClientPolicy) {
	if asksTLS(p) {
		t.names(at, path+".tls.validation", p.TLS.Validation.SubjectAlternativeNames)
	}
}

func (t *translator) names(at model.Origin, path string, names *api.SubjectAlternativeNames) {
	if names == nil {
		return
	}
	for i, name := range names.Match.Exact {
		if len(name) > maxName {
			t.tooLong(at.At(fmt.Sprintf("%s.subjectAlternativeNames.match.exact[%d]", path, i)), name, maxName)
		}
	}
}

func (t *translator) logFormat(at model.Origin, f *api.LoggingFormat) {
	if f == nil {
		return
	}
	const path = "spec.logging.accessLog.file.format"
	if text := deref(f.Text); len(text) > maxLogText {
		t.tooLong(at.At(path+".text"), text, maxLogText)
	}
	for i, e := range f.JSON {
		if len(e.Key) > maxLogField {
			t.tooLong(at.At(fmt.Sprintf("%s.json[%d].key", path, i)), e.Key, maxLogField)
		}
		if len(e.Value) > maxLogField {
			t.tooLong(at.At(fmt.Sprintf("%s.json[%d].value", path, i)), e.Value, maxLogField)
		}
	}
}

func (t *translator) tooLong(at model.Origin, text string, limit int) {
	t.report(at, model.CodeInvalidField, "has %d characters; at most %d", len(text), limit)
}
