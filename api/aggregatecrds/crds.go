// Package aggregatecrds holds the CustomResourceDefinitions of the aggregator: member clusters, and the storage of
// registries. They are not in package crds, which is the crds folder of the Helm chart: a control plane that serves
// clusters.cluster.karmada.io itself must not get them.
//
// Nothing goes in; decoded objects come out.
package aggregatecrds

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed *.yaml
var files embed.FS

// All decodes every CustomResourceDefinition. An error means that a generated file was edited by hand.
func All() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			return nil, fmt.Errorf("api/aggregatecrds/%s: %w; run go generate ./api/...", name, err)
		}
		all = append(all, crd)
	}
	return all, nil
}
