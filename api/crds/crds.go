// Package crds holds the CustomResourceDefinitions of every API that Anymesh defines.
//
// Nothing goes in; out come the YAML files that are generated from the Go types beside this folder, as text for
// kubectl and Helm and as decoded objects for programs that install or check them.
package crds

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
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
	all, err := decoded()
	if err != nil {
		return nil, err
	}
	out := make([]*apiextensionsv1.CustomResourceDefinition, len(all))
	for i, crd := range all {
		out[i] = crd.DeepCopy()
	}
	return out, nil
}

var (
	lock sync.Mutex
	last weak.Pointer[[]*apiextensionsv1.CustomResourceDefinition]
)

// decoded decodes them, unless it did so since the last garbage collection: it takes ten times as long as a copy, and
// they have almost 1 MB, which a control plane or an agent needs at its start only.
func decoded() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	lock.Lock()
	defer lock.Unlock()
	if all := last.Value(); all != nil {
		return *all, nil
	}
	all, err := decode()
	if err == nil {
		last = weak.Make(&all)
	}
	return all, err
}

func decode() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(Files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		text, err := Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("api/crds/%s: %w; run go generate ./api/...", name, err)
		}
		all = append(all, crd)
	}
	return all, nil
}

// OfGroup decodes the CustomResourceDefinitions of an API group.
func OfGroup(group string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	all, err := All()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group != group
	}), nil
}
