// Package crds holds the CustomResourceDefinitions of every API that Anymesh defines.
//
// Nothing goes in; out come the YAML files that are generated from the Go types beside this folder, as text for
// kubectl and Helm and as decoded objects for programs that install or check them.
package crds

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"weak"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Files holds one file a kind, named group_plural.yaml.
//
//go:embed *.yaml
var Files embed.FS

// All decodes every CustomResourceDefinition, in the order of the file names. An error means that a generated file
// was edited by hand.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return copies(func(string) bool { return true })
}

// OfGroup decodes the CustomResourceDefinitions of an API group.
func OfGroup(group string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	return copies(func(of string) bool { return of == group })
}

// copies returns those of some groups. The name of a file begins with the group.
func copies(of func(group string) bool) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var out []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		if group, _, _ := strings.Cut(name, "_"); !of(group) {
			continue
		}
		crd, err := decoded(name)
		if err != nil {
			return nil, err
		}
		out = append(out, crd.DeepCopy())
	}
	return out, nil
}

var (
	lock sync.Mutex
	last = map[string]weak.Pointer[apiextensionsv1.CustomResourceDefinition]{} // by file
)

// decoded decodes a file, unless it did so since the last garbage collection: it takes ten times as long as a copy, and
// all have almost 1 MB, which a control plane or an agent needs at its start only.
func decoded(name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	lock.Lock()
	defer lock.Unlock()
	if crd := last[name].Value(); crd != nil {
		return crd, nil
	}
	text, err := Files.ReadFile(name)
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		return nil, fmt.Errorf("api/crds/%s: %w; run go generate ./api/...", name, err)
	}
	last[name] = weak.Make(crd)
	return crd, nil
}
