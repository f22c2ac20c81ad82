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
	r := &run{files: files}
	if r.repaired, err = repair(files.Documents, dialects); err != nil {
		return nil, err
	}
	r.plan = routes.Of(files.Documents, o.Namespace)
	if dialects, err = r.decode(dialects, o.Namespace); err != nil {
		return nil, err
	}
	if r.schema, err = schemaFaults(dialects, files.Documents, r.repaired); err != nil {
		return nil, err
	}
	r.translate(dialects, o)
	return r.report(), nil
}

// run has what the steps of Run find.
type run struct {
	files *manifest.Files
	set   *manifest.Set
	plan  *routes.Plan
	// repaired are what decoding would stop at, schema what the schemas of the CRDs refuse.
	repaired, schema []manifest.Fault
	// refused are by admission, findings by translation.
	refused, findings []model.Finding
}

// decode reads the objects of the files, and those that their Routes and applications plan. It returns the dialects
// with the settings of the files.
func (r *run) decode(dialects []dialect.Dialect, namespace string) ([]dialect.Dialect, error) {
	all := slices.Concat(r.files.Documents, r.plan.PlannedDocuments())
	dialects, made, assumptions := manifest.Enable(all, dialects)
	set, err := manifest.Decode(all, dialect.Kinds(dialects), namespace)
	if err != nil {
		return nil, err
	}
	set.Objects = append(set.Objects, made...)
	set.Complete(dialects)
	set.Assumptions = append(assumptions, set.Assumptions...)
	for _, d := range r.plan.Documents {
		set.Read++
		kind := dialect.KindName(d.GVK.GroupKind())
		if set.Skipped[kind]--; set.Skipped[kind] == 0 {
			delete(set.Skipped, kind)
		}
	}
	r.set = set
	return dialects, nil
}

// translate applies admission and translation.
func (r *run) translate(dialects []dialect.Dialect, o Options) {
	r.refused, r.findings = compute(dialects, r.set.Objects, o)
	if missing := assumeMeshes(dialects, r.set.Objects); len(missing) > 0 {
		noMesh := slices.DeleteFunc(r.findings, func(f model.Finding) bool { return !meshMissing(f) })
		r.refused, r.findings = compute(dialects, slices.Concat(r.set.Objects, missing), o)
		r.findings = slices.Concat(perNamespace(noMesh), r.findings)
	}
	r.findings = append(r.findings, podFindings(dialects, r.set)...)
	r.findings = append(r.findings, withoutSidecar(dialects, r.set, r.findings)...)
}

// report returns the findings of all steps. What an early step finds, a later one does not repeat.
func (r *run) report() *Report {
	out := &Report{
		Findings: []Located{}, Assumptions: r.set.Assumptions, Read: r.set.Read, Skipped: r.set.Skipped, Skips: r.files.Skips,
	}
	early := r.early()
	found := func(f model.Finding) bool {
		return slices.ContainsFunc(early, func(s manifest.Fault) bool { return sameCause(s, f) })
	}
	for _, f := range early {
		out.add(f.Document, f.Finding)
	}
	for _, f := range r.plan.Findings() {
		if !r.schemaRefuses(f.Document) {
			out.add(f.Document, f.Finding)
		}
	}
	for _, f := range r.refused {
		if !explained(f, r.findings) && !found(f) {
			out.add(r.set.Sources[f.Object], f)
		}
	}
	for _, f := range r.findings {
		if d, at, planned := r.plan.Source(f.Object); planned {
			if conflict, is := r.plan.NotServed(f); is {
				out.add(d, conflict.Finding)
			} else if f.Code == model.CodeBackendTLS { // the plan has the others
				out.add(d, model.NewFinding(at, f.Code, f.Text))
			}
		} else if !found(f) {
			out.add(r.set.Sources[f.Object], withMeant(f, r.set.Sources))
		}
	}
	slices.SortFunc(out.Findings, func(a, b Located) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), a.Object.Compare(b.Object),
			cmp.Compare(a.Code, b.Code), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Text, b.Text))
	})
	out.Findings = slices.Compact(out.Findings)
	return out
}

// early returns the faults of all steps before admission.
func (r *run) early() []manifest.Fault {
	for i, f := range r.repaired {
		r.repaired[i].Object.Namespace = f.Document.Ref.Namespace // decoding has set it
	}
	repaired := slices.DeleteFunc(r.repaired, func(f manifest.Fault) bool {
		return slices.ContainsFunc(r.schema, func(s manifest.Fault) bool { return sameField(s, f) })
	})
	decoding := slices.DeleteFunc(r.set.Faults, func(f manifest.Fault) bool { // the schema finding is more precise
		return f.Code == model.CodeUnreadable && r.schemaRefuses(f.Document)
	})
	return slices.Concat(r.files.Faults, repaired, decoding, r.plan.Faults, r.schema)
}

func (r *run) schemaRefuses(d *manifest.Document) bool {
	return slices.ContainsFunc(r.schema, func(s manifest.Fault) bool { return s.Document == d })
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
