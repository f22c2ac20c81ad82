package aggregate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/fleet"
)

// definitionsTimeout limits the time to read the definitions of all custom resources.
const definitionsTimeout = 5 * time.Second

// define completes registered custom resources by their CustomResourceDefinitions in the first cluster that answers:
// selectable fields and the columns of tables. Without an answer, they stay as they are in the view before.
func define(ctx context.Context, next, before *view) {
	ctx, cancel := context.WithTimeout(ctx, definitionsTimeout)
	defer cancel()
	for gvr, k := range next.selected.kinds {
		if !strings.Contains(gvr.Group, ".") {
			continue // groups of custom resources have a domain
		}
		if known, ok := before.selected.kinds[gvr]; ok {
			k.kind.SelectableFields, k.printer = known.kind.SelectableFields, known.printer
		}
		for _, scope := range k.kind.Scopes {
			m, ok := next.member(scope.Cluster)
			if !ok || !m.Ready {
				continue
			}
			version, err := readDefinition(ctx, m, gvr.GroupResource().String(), gvr.Version)
			if err != nil {
				continue // the next cluster may answer
			}
			if version != nil {
				k.kind.SelectableFields = selectableFields(version)
				k.printer = customPrinter(version)
			}
			break
		}
	}
}

// readDefinition reads a version of a CustomResourceDefinition; nil if the cluster has none of the name.
func readDefinition(ctx context.Context, m fleet.Member, name, version string) (
	*apiextensionsv1.CustomResourceDefinitionVersion, error,
) {
	location := m.Reader.URL.JoinPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", name)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, location.String(), nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	response, err := m.Reader.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswerSize))
	if err != nil || response.StatusCode == http.StatusNotFound {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("CustomResourceDefinition %s of cluster %s: status %d", name, m.Name, response.StatusCode)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := json.Unmarshal(body, &crd); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == version
	})
	if i < 0 {
		return nil, fmt.Errorf("CustomResourceDefinition %s of cluster %s has no version %s", name, m.Name, version)
	}
	return &crd.Spec.Versions[i], nil
}

func selectableFields(v *apiextensionsv1.CustomResourceDefinitionVersion) []string {
	var out []string
	for _, f := range v.SelectableFields {
		out = append(out, f.JSONPath)
	}
	return out
}

// customPrinter has the columns of a definition, as kube-apiserver prints them; nil if a column has a path that is not
// known here, because the member is newer.
func customPrinter(v *apiextensionsv1.CustomResourceDefinitionVersion) *printer {
	convertor, err := tableconvertor.New(v.AdditionalPrinterColumns)
	if err != nil {
		return nil
	}
	ctx := context.Background() // the conversion does no I/O
	head, err := convertor.ConvertToTable(ctx, &unstructured.UnstructuredList{}, nil)
	if err != nil {
		return nil
	}
	return &printer{head.ColumnDefinitions, func(object []byte) ([]any, error) {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(object); err != nil {
			return nil, err
		}
		table, err := convertor.ConvertToTable(ctx, o, &metav1.TableOptions{NoHeaders: true})
		if err != nil {
			return nil, err
		}
		if len(table.Rows) != 1 {
			return nil, errors.New("the object has no row")
		}
		return table.Rows[0].Cells, nil
	}}
}
