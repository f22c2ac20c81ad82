package appmesh

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// serviceNamespacesAnnotation on a Mesh binds names of VirtualServices to namespaces: NAME=NAMESPACE or
// *.SUFFIX=NAMESPACE, separated by commas. Of several patterns that match a name, the longest one applies.
const serviceNamespacesAnnotation = "anymesh.dev/service-namespaces"

// serviceNamespaces are the namespaces of VirtualServices that may have a name.
type serviceNamespaces struct {
	// byPattern has namespaces by pattern, in lower case: host names have no case.
	byPattern map[string][]string
	// malformed: it is not known which names an entry binds. No namespace may have names without a pattern.
	malformed bool
}

// parseServiceNamespaces parses the annotation. It returns the entries that are well-formed, and an error for the
// others.
func parseServiceNamespaces(text string) (serviceNamespaces, error) {
	out := serviceNamespaces{byPattern: map[string][]string{}}
	var wrong []string
	for _, entry := range splitList(text) {
		pattern, namespace, _ := strings.Cut(entry, "=")
		pattern, namespace = strings.ToLower(strings.TrimSpace(pattern)), strings.TrimSpace(namespace)
		if nameError(api.KindVirtualService, strings.TrimPrefix(pattern, "*.")) != "" ||
			len(validation.IsDNS1123Label(namespace)) > 0 {
			wrong = append(wrong, fmt.Sprintf("%q", entry))
			continue
		}
		if !slices.Contains(out.byPattern[pattern], namespace) {
			out.byPattern[pattern] = append(out.byPattern[pattern], namespace)
		}
	}
	if len(wrong) == 0 {
		return out, nil
	}
	out.malformed = true
	return out, fmt.Errorf("annotation %s: %s is not NAME=NAMESPACE or *.SUFFIX=NAMESPACE; names that no other entry binds are not served",
		serviceNamespacesAnnotation, strings.Join(wrong, ", "))
}

// of returns the namespaces that may have a name, and whether the name is bound.
func (s serviceNamespaces) of(name string) (namespaces []string, bound bool) {
	pattern, rest := strings.ToLower(name), strings.ToLower(name)
	for more := true; more; pattern = "*." + rest {
		if found, ok := s.byPattern[pattern]; ok {
			return found, true
		}
		_, rest, more = strings.Cut(rest, ".")
	}
	return nil, s.malformed
}

// reserved returns the finding of a VirtualService whose name the Mesh binds to other namespaces, or nil.
func (m meshEntry) reserved(at model.Origin, name string) *model.Finding {
	namespaces, bound := m.services.of(name)
	switch {
	case !bound || slices.Contains(namespaces, at.Object().Namespace):
		return nil
	case len(namespaces) == 0:
		return findingf(at, model.CodeNameReserved, "the annotation %s of %s is malformed, so that no namespace has the name %s",
			serviceNamespacesAnnotation, m.origin.Object(), name)
	}
	return findingf(at, model.CodeNameReserved, "%s binds the name %s to namespace %s, by its annotation %s", m.origin.Object(),
		name, strings.Join(namespaces, " or "), serviceNamespacesAnnotation)
}
