package routes

import (
	"regexp"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/model"
)

// codes are the codes of the reasons of conditions that are not CodeInvalidField.
var codes = map[string]model.Code{
	"KindNotFound":       model.CodeReferenceNotFound,
	"WorkloadNotFound":   model.CodeReferenceNotFound,
	"ServiceNotFound":    model.CodeReferenceNotFound,
	"PortNotFound":       model.CodeReferenceNotFound,
	"DefinitionNotFound": model.CodeReferenceNotFound,
	"ComponentNotFound":  model.CodeReferenceNotFound,
	"NoPodTemplate":      model.CodeNoService,
	"NoPodSpec":          model.CodeNoService,
	"NoPort":             model.CodeNoService,
	"NoPodLabels":        model.CodeNoService,
	"ServiceExists":      model.CodeNoService,
	"ExternalName":       model.CodeNoService,
}

// Findings are what the control plane would write to the conditions of Routes, applications and workloads: errors, and
// fields that the provider does not honor. What depends on the state of a cluster is not among them.
func (p *Plan) Findings() []manifest.Fault {
	var out []manifest.Fault
	for _, f := range p.Failures {
		out = append(out, p.fault(f.Object, f.Reason))
	}
	for _, o := range p.Routes() {
		key, d := controller.KeyOf(o), p.Describe(o)
		if d.Failure != nil {
			out = append(out, p.fault(key, *d.Failure))
			continue
		}
		if d.Needs != nil && codes[d.Needs.Reason] == model.CodeReferenceNotFound {
			out = append(out, p.fault(key, *d.Needs))
		}
		for _, u := range d.Unsupported {
			out = append(out, p.finding(key, u.Field, model.CodeNotSupportedByProvider, u.Text+" (provider: "+d.Provider+")"))
		}
	}
	return out
}

// Source returns the document, and the field in it, from which an object is planned. It reports false for an object of
// the manifests.
func (p *Plan) Source(ref model.ObjectRef) (*manifest.Document, model.Origin, bool) {
	for key, source := range p.Sources {
		if refOf(key) != ref {
			continue
		}
		for { // the object may be planned from a planned one
			above, planned := p.Sources[source.Object]
			if !planned {
				break
			}
			source = above
		}
		return p.byKey[source.Object], model.NewOrigin(refOf(source.Object)).At(source.Path), true
	}
	return nil, model.Origin{}, false
}

// plannedFrom reports whether an object is planned directly from another one.
func (p *Plan) plannedFrom(ref model.ObjectRef, from controller.ObjectKey) bool {
	for key, source := range p.Sources {
		if refOf(key) == ref && source.Object == from {
			return true
		}
	}
	return false
}

// objectInText is an object in the text of a finding.
var objectInText = regexp.MustCompile(`\b(\w+) ([\w-]+)/([\w.-]*\w)`)

// NotServed returns the finding about an object of the manifests for one about a planned object whose requests another
// object gets, or whose certificate is not served. It reports false for other findings.
func (p *Plan) NotServed(f model.Finding) (manifest.Fault, bool) {
	d, at, planned := p.Source(f.Object)
	named := func(part string) bool { return strings.Contains(f.Path, part) }
	if !planned || !slices.ContainsFunc([]string{".paths[", ".matches[", ".tls["}, named) || f.Code != model.CodeNameConflict {
		return manifest.Fault{}, false
	}
	text := objectInText.ReplaceAllStringFunc(f.Text, func(named string) string {
		for key := range p.Sources {
			if ref := refOf(key); ref.String() == named {
				_, source, _ := p.Source(ref)
				return source.Object().String()
			}
		}
		return named
	})
	out := model.NewFinding(at, f.Code, text)
	out.Severity = f.Severity
	return manifest.Fault{Document: d, Finding: out}, true
}

// fieldPath is the path of a field at the beginning of a part of a message.
var fieldPath = regexp.MustCompile(`(?:^|: )(spec(?:\.\w+|\[\d+\])+): `)

// fault is the finding of the reason of a condition. Its message has the path of the field.
func (p *Plan) fault(key controller.ObjectKey, reason provider.Reason) manifest.Fault {
	code, known := codes[reason.Reason]
	if !known {
		code = model.CodeInvalidField
	}
	path, text := "", reason.Message
	if at := fieldPath.FindStringSubmatchIndex(text); at != nil {
		path = text[at[2]:at[3]]
		text = strings.TrimSuffix(text[:at[2]], " ") + " " + text[at[1]:]
	}
	return p.finding(key, path, code, strings.TrimSpace(text))
}

// finding is a finding about an object, or about the object of the manifests from which it is planned.
func (p *Plan) finding(key controller.ObjectKey, path string, code model.Code, text string) manifest.Fault {
	if source, planned := p.Sources[key]; planned {
		if key, path = source.Object, strings.Trim(source.Path+"."+path, "."); source.Path == "" {
			path = ""
		}
	}
	at := model.NewOrigin(refOf(key)).At(path)
	return manifest.Fault{Document: p.byKey[key], Finding: model.NewFinding(at, code, text)}
}
