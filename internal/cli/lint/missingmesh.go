package lint

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// compute returns the findings of admission, and those of the control plane and of drivers.
func compute(dialects []dialect.Dialect, objects []client.Object, o Options) (refused, findings []model.Finding) {
	admitted, refused := admit(dialects, objects)
	state := engine.Compute(dialects, engine.Settings{DNS: o.DNS}, admitted)
	findings = append(findings, state.Findings...)
	findings = append(findings, driverFindings(state, o)...)
	selectors := podSelectors(dialects, admitted)
	findings = append(findings, unmatchedSelectors(selectors)...)
	findings = append(findings, closedPorts(state, selectors, admitted)...)
	findings = append(findings, missingFiles(dialects, state, admitted)...)
	findings = append(findings, hiddenRoutes(state)...)
	return refused, append(findings, dnsFindings(state)...)
}

func assumeMeshes(dialects []dialect.Dialect, objects []client.Object) []client.Object {
	var out []client.Object
	for _, d := range dialect.Implementing[dialect.Manifests](dialects) {
		out = append(out, d.AssumeMeshes(objects)...)
	}
	return out
}

// meshMissing reports whether a finding is about an object whose mesh is not in the files.
func meshMissing(f model.Finding) bool {
	return f.Code == model.CodeNoMesh || f.Code == model.CodeMeshMismatch
}

// perNamespace keeps the first of equal findings of each namespace, and counts the others in its text: they have one
// cause.
func perNamespace(findings []model.Finding) []model.Finding {
	type cause struct {
		namespace, text string
		code            model.Code
	}
	first, others := map[cause]int{}, map[int]int{}
	var out []model.Finding
	for _, f := range findings {
		c := cause{f.Object.Namespace, f.Text, f.Code}
		if i, known := first[c]; known {
			others[i]++
			continue
		}
		first[c] = len(out)
		out = append(out, f)
	}
	for i, n := range others {
		out[i].Text += fmt.Sprintf("; the same applies to %d more of its objects", n)
	}
	return out
}
