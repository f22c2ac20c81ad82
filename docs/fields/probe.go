package fields

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Outcome is the effect of setting a field. The zero value means no effect.
type Outcome struct {
	// Drivers are the drivers whose sidecars get a different configuration.
	Drivers []string
	// Model: the model changes. Admission: the admission response changes.
	Model, Admission bool
	// Codes are the codes of new findings.
	Codes []model.Code
}

// Inert reports whether a field is for people only.
func (f Field) Inert() bool { return slices.Contains(inert, f.Kind+" "+f.Path()) }

// inert are names that nothing refers to.
var inert = []string{
	"TCPRoute spec.matches.name", "Route spec.name", "Target spec.cluster.name", "Target spec.cluster.endpoints[].name",
	"VirtualService spec.listener.name", "VirtualService spec.listener.rules[].name", "VirtualService spec.rules[].name",
}

// Silent reports whether the field has no effect.
func (o Outcome) Silent() bool { return !o.Model && !o.Admission && len(o.Codes) == 0 }

// FieldNotImplemented reports whether a finding says that the field is not implemented.
func (o Outcome) FieldNotImplemented() bool {
	return slices.Contains(o.Codes, model.CodeFieldNotImplemented)
}

// Probe sets a field of an object of the mesh to different values, and returns the differences. drivers are by name.
func (a *API) Probe(f Field, drivers map[string]sidecar.Renderer) (Outcome, error) {
	var seen []snapshot
	path := f.Path()
	values := valuesOf(f.Kind+" "+path, f.steps[len(f.steps)-1].schema)
	variants := []func(map[string]any){}
	if !f.steps[len(f.steps)-1].required {
		variants = append(variants, func(o map[string]any) { f.place(o, nil) })
	}
	for _, v := range values {
		variants = append(variants, func(o map[string]any) { f.place(o, v) })
	}
	for _, change := range variants {
		s, err := a.observe(f.Kind, change, drivers)
		if err != nil {
			return Outcome{}, fmt.Errorf("%s %s: %w", f.Kind, path, err)
		}
		seen = append(seen, s)
	}
	var out Outcome
	byDriver, codes := map[string]bool{}, map[model.Code]bool{}
	for _, s := range seen {
		out.Model = out.Model || s.model != seen[0].model
		out.Admission = out.Admission || s.admission != seen[0].admission
		for name := range drivers {
			byDriver[name] = byDriver[name] || s.rendered[name] != seen[0].rendered[name] && !s.unsupported(name, path)
		}
		for text, finding := range s.findings {
			always := !slices.ContainsFunc(seen, func(other snapshot) bool {
				_, ok := other.findings[text]
				return !ok
			})
			// One finding covers all fields of a part, or of an object, that is not implemented.
			part := finding.Path == "" || contains(finding.Path, path)
			if !always || finding.Code == model.CodeFieldNotImplemented && part {
				codes[finding.Code] = true
			}
		}
	}
	for name, differs := range byDriver {
		if differs {
			out.Drivers = append(out.Drivers, name)
		}
	}
	slices.Sort(out.Drivers)
	out.Codes = slices.Sorted(maps.Keys(codes))
	return out, nil
}

var index = regexp.MustCompile(`\[\d*\]`)

// contains reports whether a path is the path of a field or of one of its parents.
func contains(path, field string) bool {
	return strings.HasPrefix(index.ReplaceAllString(field, "")+".", index.ReplaceAllString(path, "")+".")
}

// snapshot is the observable state of the mesh.
type snapshot struct {
	model, admission string
	rendered         map[string]string
	findings         map[string]model.Finding // by text
}

// unsupported reports whether the driver does not support a part of the object with the field.
func (s *snapshot) unsupported(driver, field string) bool {
	for text, f := range s.findings {
		if f.Code == model.CodeNotSupported && contains(f.Path, field) && strings.Contains(text, "driver "+driver+" ") {
			return true
		}
	}
	return false
}

// observe changes the object "target" of a kind, or the Mesh "m", and computes a snapshot.
func (a *API) observe(kind string, change func(map[string]any), drivers map[string]sidecar.Renderer) (snapshot, error) {
	s := snapshot{rendered: map[string]string{}, findings: map[string]model.Finding{}}
	all, err := a.objects()
	if err != nil {
		return s, err
	}
	var objects []client.Object
	var target client.Object
	for _, o := range all {
		if o.kind == kind && (o.typed.GetName() == "target" || kind == "Mesh" && o.typed.GetName() == "m") {
			if target, err = decode(o.text, change); err != nil {
				return s, err
			}
			o.typed = target
		}
		objects = append(objects, o.typed)
	}
	if err := a.validate(target); err != nil {
		s.admission = err.Error()
	}
	dialects, err := configured()
	if err != nil {
		return s, err
	}
	state := engine.Compute(dialects, engine.Settings{}, objects)
	findings := slices.Clone(state.Findings)
	s.model = model.Hash(state.Index.Model)
	for name, driver := range drivers {
		var hashes []string
		for _, key := range slices.SortedFunc(maps.Keys(state.Views), func(a, b model.Key) int {
			return strings.Compare(a.String(), b.String())
		}) {
			resources, driverFindings := sidecar.Configuration(driver, state.Views[key].View, state.Index.ResolvedDestination)
			findings = slices.Concat(findings, driverFindings,
				model.Unsupported(name, state.Views[key].Needs(), driver.Supports()))
			for _, r := range resources {
				hashes = append(hashes, r.Name, model.Hash(r.Body))
			}
		}
		s.rendered[name] = strings.Join(hashes, " ")
	}
	for _, f := range findings {
		if f.Object == dialect.RefOf(target) {
			s.findings[f.String()] = f
		}
	}
	return s, nil
}
