package presubmit

import (
	"go/ast"
	"strings"
)

// kubernetesImports has the names of the imports with Kubernetes' own types. Some have the name of a dialect's kind.
func kubernetesImports(file *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, spec := range file.Imports {
		if spec.Name != nil && strings.HasPrefix(spec.Path.Value, `"k8s.io/api/`) {
			out[spec.Name.Name] = true
		}
	}
	return out
}

var separators = strings.NewReplacer("_", "", "-", "", " ", "")

// plain is the form in which names are compared: VirtualNode, virtual_node and "virtual node" are the same.
func plain(text string) string { return strings.ToLower(separators.Replace(text)) }
