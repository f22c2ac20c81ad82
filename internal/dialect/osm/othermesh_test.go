package osm_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/test/cases"
)

// wrongObjects are objects with errors, in the namespace shop.
const wrongObjects = `
{apiVersion: access.smi-spec.io/v1alpha3, kind: TrafficTarget, metadata: {name: a, namespace: shop}, spec: {destination: {kind: ServiceAccount, name: a}}}
---
{apiVersion: specs.smi-spec.io/v1alpha4, kind: HTTPRouteGroup, metadata: {name: a, namespace: shop}, spec: {matches: [{name: a, pathRegex: "*"}]}}
---
{apiVersion: specs.smi-spec.io/v1alpha4, kind: TCPRoute, metadata: {name: a, namespace: shop}, spec: {matches: {ports: [0]}}}
---
{apiVersion: split.smi-spec.io/v1alpha4, kind: TrafficSplit, metadata: {name: a, namespace: shop}, spec: {service: a, backends: []}}
---
{apiVersion: policy.openservicemesh.io/v1alpha1, kind: IngressBackend, metadata: {name: a, namespace: shop}, spec: {backends: [{name: a, port: {number: 80, protocol: http}}], sources: []}}
---
{apiVersion: policy.openservicemesh.io/v1alpha1, kind: AccessControl, metadata: {name: a, namespace: shop}, spec: {backends: [], sources: []}}
---
{apiVersion: policy.openservicemesh.io/v1alpha1, kind: EgressGateway, metadata: {name: a, namespace: shop}, spec: {global: [{service: g, namespace: shop}]}}
`

// Another control plane serves the namespaces with the name of its mesh: they have no findings, and keep their status.
func TestOtherMeshesAreLeftAlone(t *testing.T) {
	for mesh, want := range map[string]string{"osm": "InvalidField", "": "NoMesh", "other": ""} {
		labels := map[string]string{"": "", "osm": ", labels: {openservicemesh.io/monitored-by: osm}"}
		labels["other"] = strings.ReplaceAll(labels["osm"], "by: osm", "by: other")
		all, err := cases.Decode([]byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop" + labels[mesh] + "}}\n---\n" +
			strings.TrimPrefix(wrongObjects, "\n")))
		if err != nil {
			t.Fatal(err)
		}
		m, objects := newMesh()
		for _, o := range all {
			objects.Set(o)
		}
		m.run()
		of := map[string]string{}
		for _, f := range m.mesh.AllFindings() {
			if f.Object.Kind != "Namespace" {
				of[f.Object.Kind] += string(f.Code) + " "
			}
		}
		for _, o := range all[1:] {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			got := of[kind]
			if want == "" && got != "" || want == "NoMesh" && got != "NoMesh " || want != "" && got == "" {
				t.Errorf("mesh %q: %s has the findings %q", mesh, kind, got)
			}
			if want == "" && (osm.Dialect{}).Status(o, dialect.StatusInput{}) != o {
				t.Errorf("the status of %s changes", kind)
			}
		}
	}
}
