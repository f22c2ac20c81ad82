package lint

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/model"
)

// sameCause reports whether a finding about an object follows from a fault in its document: it is about the same value,
// a part of it, or the object that the value is missing in.
func sameCause(fault manifest.Fault, f model.Finding) bool {
	if fault.Object != f.Object || fault.Path == "" || f.Path == "" {
		return false
	}
	if fault.Code == model.CodeUnknownField {
		return false // the field is repaired
	}
	parent := fault.Path[:max(strings.LastIndexAny(fault.Path, ".["), 0)]
	part, is := strings.CutPrefix(f.Path, fault.Path)
	return f.Path == parent || is && (part == "" || part[0] == '.' || part[0] == '[')
}

// sameField reports whether a violation of a schema is about the field of a repaired value, or around it.
func sameField(violation, repaired manifest.Fault) bool {
	if repaired.Code != model.CodeUnreadable || violation.Document != repaired.Document {
		return false
	}
	part, is := strings.CutPrefix(plain.Replace(repaired.Path), plain.Replace(violation.Path))
	return is && violation.Path != "" && (part == "" || part[0] == '.')
}

// plain makes paths comparable: the schema does not write keys of mappings in brackets.
var plain = strings.NewReplacer("[", ".", "]", "")

// missing is the text of a finding about an object that does not exist.
var missing = regexp.MustCompile(`^(\w+) ([\w.-]+)/([\w.-]+) does not exist`)

// withMeant adds to a finding about a missing object the name that was meant: of an object of the files, of the same
// kind and namespace, or with the same name in another namespace. A kind whose name dialects share is that of the
// group of the finding's object.
func withMeant(f model.Finding, sources map[model.ObjectRef]*manifest.Document) model.Finding {
	m := missing.FindStringSubmatch(f.Text)
	if f.Code != model.CodeReferenceNotFound || m == nil {
		return f
	}
	names, namespaces := map[string]bool{}, []string{}
	for ref := range sources {
		kind := schema.GroupKind{Group: ref.Group, Kind: ref.Kind}
		if ref.Kind != m[1] || ref.Group != f.Object.Group && dialect.KindName(kind) != ref.Kind {
			continue
		}
		if ref.Namespace == m[2] {
			names[ref.Name] = true
		} else if ref.Name == m[3] {
			namespaces = append(namespaces, ref.Namespace)
		}
	}
	if meant, near := spelling.Meant(m[3], slices.Sorted(maps.Keys(names))); near {
		f.Text += ". Did you mean " + m[1] + " " + m[2] + "/" + meant + "?"
	} else if len(namespaces) == 1 {
		f.Text += ". Did you mean " + m[1] + " " + namespaces[0] + "/" + m[3] + "?"
	}
	return f
}
