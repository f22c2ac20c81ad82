// Package lint checks manifests without a cluster.
//
// In: documents from package manifest. Out: findings with the file and line of their field, as text, JSON or SARIF. It
// applies the rules of a cluster: strict decoding, the schemas of the CRDs, admission, translation by the dialects, the
// plans of Routes and applications, and the features of the sidecar driver of each pod.
package lint

import (
	"cmp"
	"slices"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/cli/routes"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Options configure the rules.
type Options struct {
	// Namespace is the namespace of objects without metadata.namespace.
	Namespace string
	Settings  dialect.Settings
	// Driver is the default sidecar driver.
	Driver string
	// DNS is the DNS mode of pods without one; empty means the default.
	DNS model.DNSMode
	// Drivers are all sidecar drivers; nil disables their rules.
	Drivers map[string]sidecar.Renderer
}

// Located is a finding with its position. File and Line are zero for an object that is not in the files.
type Located struct {
	model.Finding
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Report is the result of a lint run.
type Report struct {
	// Findings are ordered by file, line, code and text.
	Findings []Located `json:"findings"`
	// Assumptions are assumptions about objects that are not in the files.
	Assumptions []string `json:"assumptions,omitempty"`
	// Read counts the checked objects; Skipped counts objects of other kinds, by kind, and
	// by KIND.GROUP if dialects read a kind of the same name.
	Read    int            `json:"read"`
	Skipped map[string]int `json:"skipped,omitempty"`
	// Skips are files and folders whose objects are not read.
	Skips []manifest.Skip `json:"notRead,omitempty"`
}

// Count returns the number of findings with a severity.
func (r *Report) Count(s model.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// Run checks the content of files. It returns an error only for a fault of this program.
func Run(files *manifest.Files, o Options) (*Report, error) {
	dialects, err := dialect.Configured(o.Settings)
	if err != nil {
		return nil, err
	}
	documents := files.Documents
	repaired, err := repair(documents, dialects)
	if err != nil {
		return nil, err
	}
	plan := routes.Of(documents, o.Namespace)
	all := slices.Concat(documents, plan.PlannedDocuments())
	dialects, made, assumptions := manifest.Enable(all, dialects)
	set, err := manifest.Decode(all, dialect.Kinds(dialects), o.Namespace)
	if err != nil {
		return nil, err
	}
	set.Objects = append(set.Objects, made...)
	set.Complete(dialects)
	set.Assumptions = append(assumptions, set.Assumptions...)
	for _, d := range plan.Documents {
		set.Read++
		kind := dialect.KindName(d.GVK.GroupKind())
		if set.Skipped[kind]--; set.Skipped[kind] == 0 {
			delete(set.Skipped, kind)
		}
	}
	schema, err := schemaFaults(dialects, documents, repaired)
	if err != nil {
		return nil, err
	}
	refused, findings := compute(dialects, set.Objects, o)
	if missing := assumeMeshes(dialects, set.Objects); len(missing) > 0 {
		noMesh := slices.DeleteFunc(findings, func(f model.Finding) bool { return !meshMissing(f) })
		refused, findings = compute(dialects, slices.Concat(set.Objects, missing), o)
		findings = slices.Concat(perNamespace(noMesh), findings)
	}

	findings = append(findings, podFindings(dialects, set)...)

	r := &Report{Findings: []Located{}, Assumptions: set.Assumptions, Read: set.Read, Skipped: set.Skipped, Skips: files.Skips}
	for i, f := range repaired {
		repaired[i].Object.Namespace = f.Document.Ref.Namespace // decoding has set it
	}
	repaired = slices.DeleteFunc(repaired, func(f manifest.Fault) bool {
		return slices.ContainsFunc(schema, func(s manifest.Fault) bool { return sameField(s, f) })
	})
	decoding := slices.DeleteFunc(set.Faults, func(f manifest.Fault) bool { // the schema finding is more precise
		return f.Code == model.CodeUnreadable && slices.ContainsFunc(schema, func(s manifest.Fault) bool {
			return s.Document == f.Document
		})
	})
	early := slices.Concat(files.Faults, repaired, decoding, plan.Faults, schema)
	for _, f := range early {
		r.add(f.Document, f.Finding)
	}
	for _, f := range plan.Findings() {
		if !slices.ContainsFunc(schema, func(s manifest.Fault) bool { return s.Document == f.Document }) {
			r.add(f.Document, f.Finding)
		}
	}
	for _, f := range refused {
		if !explained(f, findings) && !slices.ContainsFunc(early, func(s manifest.Fault) bool { return sameCause(s, f) }) {
			r.add(set.Sources[f.Object], f)
		}
	}
	for _, f := range findings {
		if d, at, planned := plan.Source(f.Object); planned {
			if f.Code == model.CodeBackendTLS { // the plan has the others
				r.add(d, model.NewFinding(at, f.Code, f.Text))
			}
			continue
		}
		if !slices.ContainsFunc(early, func(s manifest.Fault) bool { return sameCause(s, f) }) {
			r.add(set.Sources[f.Object], withMeant(f, set.Sources))
		}
	}
	slices.SortFunc(r.Findings, func(a, b Located) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), a.Object.Compare(b.Object),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	r.Findings = slices.Compact(r.Findings)
	return r, nil
}

// kinds returns the names of kinds in the report.
func (r *Report) kinds() dialect.KindNames {
	return dialect.KindNamesOfFindings(func(yield func(model.Finding) bool) {
		for _, f := range r.Findings {
			if !yield(f.Finding) {
				return
			}
		}
	})
}

func (r *Report) add(d *manifest.Document, f model.Finding) {
	l := Located{Finding: f}
	if d != nil {
		l.File, l.Line = d.File, d.LineOf(f.Path)
	}
	r.Findings = append(r.Findings, l)
}
