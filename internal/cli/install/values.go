package install

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"helm.sh/helm/v4/pkg/chart/common/util"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// valuesName is the ConfigMap with the values of the last installation; valuesKey is its key, in YAML. Values have no
// secrets. Helm keeps its own record of a release.
const valuesName, valuesKey = "anymesh-install-values", "values.yaml"

// ValuesObject is the record of the values of an installation.
func ValuesObject(o Options) (*unstructured.Unstructured, error) {
	text, err := yaml.Marshal(o.Values)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": valuesName, "namespace": o.Namespace,
			"labels": map[string]any{nameLabel: "anymesh", "app.kubernetes.io/managed-by": "anymesh-install"},
		},
		"data": map[string]any{valuesKey: string(text)},
	}}, nil
}

// EarlierValues returns the values of the last installation in a namespace; nil if there was none.
func EarlierValues(ctx context.Context, c client.Reader, namespace string) (map[string]any, error) {
	var record corev1.ConfigMap
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: valuesName}, &record)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var values map[string]any
	if err := yaml.Unmarshal([]byte(record.Data[valuesKey]), &values); err != nil {
		return nil, fmt.Errorf("ConfigMap %s/%s: %s: %w; delete it to forget the values", namespace, valuesName, valuesKey, err)
	}
	return values, nil
}

// KeepValues adds earlier values to new ones, which take precedence. It returns the paths that it added and those
// whose values differ, each as "NAME=VALUE", sorted.
func KeepValues(values, earlier map[string]any) (merged map[string]any, kept, changed []string) {
	before, now := map[string]any{}, map[string]any{}
	flatten(before, "", earlier)
	flatten(now, "", values)
	for _, path := range slices.Sorted(maps.Keys(before)) {
		value, given := now[path]
		switch {
		case !given:
			kept = append(kept, path+"="+valueText(before[path]))
		case !reflect.DeepEqual(value, before[path]):
			changed = append(changed, fmt.Sprintf("%s=%s (it was %s)", path, valueText(value), valueText(before[path])))
		}
	}
	return util.CoalesceTables(maps.Clone(values), earlier), kept, changed
}

// flatten adds the values of a map by path. Numbers have the type that YAML gives them.
func flatten(out map[string]any, prefix string, values map[string]any) {
	for name, value := range values {
		switch value := value.(type) {
		case map[string]any:
			flatten(out, prefix+name+".", value)
		case int64:
			out[prefix+name] = float64(value)
		default:
			out[prefix+name] = value
		}
	}
}

func valueText(value any) string {
	if text, is := value.(string); is {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}
