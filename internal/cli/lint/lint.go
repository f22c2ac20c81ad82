// Package lint says what is wrong with manifests before anybody applies them.
//
// In: documents as package manifest reads them. Out: findings with the file and line of the field that each is about, as text, JSON or
// SARIF. The rules are those that the cluster has: strict decoding, the schemas of the CustomResourceDefinitions, admission,
// translation, views, and what the sidecar driver of each pod honours.
package lint

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Options say by what rules manifests are judged.
type Options struct {
	// Namespace is that of objects which do not name one.
	Namespace string
	Settings  dialect.Settings
	// Driver is the sidecar driver of pods that name none, for themselves or for their namespace.
	Driver string
	// Drivers are all drivers; nil leaves their rules out.
	Drivers map[string]sidecar.Renderer
}

// Located is a finding and where it stands. File and Line are zero for an object that is not among the files.
type Located struct {
	model.Finding
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Report is what there is to say about manifests.
type Report struct {
	// Findings are ordered by file, line, code and text.
	Findings []Located `json:"findings"`
	// Assumptions are what was taken for granted.
	Assumptions []string `json:"assumptions,omitempty"`
	// Read counts the objects that were judged; Passed those that are no business of the mesh, by kind.
	Read   int            `json:"read"`
	Passed map[string]int `json:"passed,omitempty"`
}

// Count tells how many findings have a severity.
func (r *Report) Count(s model.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Run judges documents. faults are what was found when they were read. An error is one of this program, not of the manifests.
func Run(documents []*manifest.Document, faults []manifest.Fault, o Options) (*Report, error) {
	dialects, err := dialect.Configured(o.Settings)
	if err != nil {
		return nil, err
	}
	set, err := manifest.Decode(documents, dialect.Kinds(dialects), o.Namespace)
	if err != nil {
		return nil, err
	}
	set.Complete(dialects)
	schema, err := schemaFaults(dialects, documents)
	if err != nil {
		return nil, err
	}
	objects, refused := admit(dialects, set)
	state := engine.Compute(dialects, objects)
	findings := slices.Concat(state.Findings, driverFindings(state, o))

	r := &Report{Findings: []Located{}, Assumptions: set.Assumptions, Read: set.Read, Passed: set.Passed}
	early := slices.Concat(faults, set.Faults, schema)
	for _, f := range early {
		if f.Code == model.CodeUnreadable && slices.ContainsFunc(schema, func(s manifest.Fault) bool { return s.Document == f.Document }) {
			continue // the schema says it better
		}
		r.add(f.Document, f.Finding)
	}
	for _, f := range refused {
		if !explained(f, findings) {
			r.add(set.Sources[f.Object], f)
		}
	}
	for _, f := range findings {
		told := func(s manifest.Fault) bool { return s.Object == f.Object && s.Path == f.Path }
		if !slices.ContainsFunc(schema, told) {
			r.add(set.Sources[f.Object], f)
		}
	}
	slices.SortFunc(r.Findings, func(a, b Located) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), a.Object.Compare(b.Object),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	r.Findings = slices.Compact(r.Findings)
	return r, nil
}

func (r *Report) add(d *manifest.Document, f model.Finding) {
	l := Located{Finding: f}
	if d != nil {
		l.File, l.Line = d.File, d.LineOf(f.Path)
	}
	r.Findings = append(r.Findings, l)
}
