// Package valuesschema generates the definitions of the JSON schema of the chart values that follow from Go types and
// lists.
//
// In: the text of values.schema.json, the names of the sidecar drivers and of the providers of Routes. Out: the same
// text with these definitions below "$defs". The control plane decodes the values into the same types, strictly.
package valuesschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// File is the file of the schema in the chart.
const File = "values.schema.json"

// Class is the definition of the names of sidecar drivers.
const Class = "sidecarClass"

// provider is the definition of the names of providers of Routes.
const provider = "routeProvider"

// marker starts the generated part of the file, which extends to its end.
const marker = "  \"$defs\": {\n"

// quantity is the syntax of a quantity of Kubernetes that is not negative.
const quantity = `^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$`

// kinds are the types of values that Kubernetes defines.
var kinds = map[string]reflect.Type{
	"affinity":                  reflect.TypeFor[corev1.Affinity](),
	"networkPolicyEgress":       reflect.TypeFor[[]networkingv1.NetworkPolicyEgressRule](),
	"networkPolicyPeers":        reflect.TypeFor[[]networkingv1.NetworkPolicyPeer](),
	"imagePullSecrets":          reflect.TypeFor[[]corev1.LocalObjectReference](),
	"resources":                 reflect.TypeFor[corev1.ResourceRequirements](),
	"tolerations":               reflect.TypeFor[[]corev1.Toleration](),
	"topologySpreadConstraints": reflect.TypeFor[[]corev1.TopologySpreadConstraint](),
}

// budget is the schema of the part of a PodDisruptionBudget that values set; an empty minAvailable is not set.
var budget = map[string]any{
	"type": "object", "additionalProperties": false, "properties": map[string]any{
		"maxUnavailable": numberOrPercentage(`^[0-9]+%$`), "minAvailable": numberOrPercentage(`^([0-9]+%)?$`),
	},
}

func numberOrPercentage(pattern string) map[string]any {
	return map[string]any{"anyOf": []any{
		of(reflect.TypeFor[int32]()), map[string]any{"type": "string", "pattern": pattern},
	}}
}

// Names returns the definition of a value that is one of some names.
func Names(names []string) map[string]any { return map[string]any{"enum": names} }

// Complete replaces the definitions in the text of the schema.
func Complete(text string, drivers, providers []string) (string, error) {
	written, _, found := strings.Cut(text, marker)
	if !found {
		return "", fmt.Errorf("%s of the chart: no line %q", File, strings.TrimSpace(marker))
	}
	all := map[string]any{
		Class: Names(drivers), provider: Names(append([]string{""}, providers...)), "podDisruptionBudget": budget,
	}
	for name, kind := range kinds {
		all[name] = of(kind)
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		line, err := json.Marshal(all[name])
		if err != nil {
			return "", fmt.Errorf("%s of the chart: %s: %w", File, name, err)
		}
		lines = append(lines, fmt.Sprintf("    %q: %s", name, line))
	}
	return written + marker + strings.Join(lines, ",\n") + "\n  }\n}\n", nil
}

// of returns the schema of a type as encoding/json decodes it.
func of(t reflect.Type) map[string]any {
	if t == reflect.TypeFor[resource.Quantity]() {
		return map[string]any{"anyOf": []any{
			map[string]any{"type": "number", "minimum": 0}, map[string]any{"type": "string", "pattern": quantity},
		}}
	}
	if t == reflect.TypeFor[intstr.IntOrString]() {
		return map[string]any{"anyOf": []any{of(reflect.TypeFor[int32]()), map[string]any{"type": "string"}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return of(t.Elem())
	case reflect.Slice:
		return map[string]any{"type": "array", "items": of(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": of(t.Elem())}
	case reflect.Struct:
		properties, required := map[string]any{}, []string{}
		addFields(t, properties, &required)
		out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
		if len(required) > 0 {
			out["required"] = required
		}
		return out
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": 1<<31 - 1}
	case reflect.Int64:
		return map[string]any{"type": "integer"}
	}
	panic("charts/valuesschema: no schema for type " + t.String())
}

// addFields adds the fields of a struct, and those of structs that it embeds. Fields without omitempty are required.
func addFields(t reflect.Type, into map[string]any, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			addFields(f.Type, into, required)
			continue
		}
		into[name] = of(f.Type)
		if !strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Slice {
			*required = append(*required, name)
		}
	}
}
