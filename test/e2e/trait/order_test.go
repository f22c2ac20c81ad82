package trait

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ordered are the objects of an application whose workload is a custom resource with a Deployment and a Service. UID is
// that of their owner.
var ordered = []string{
	"apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: web}\nspec: {}",
	`apiVersion: apps/v1
kind: Deployment
metadata: {name: web, ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: web, uid: UID}]}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web, ports: [{containerPort: 8080, name: http}, {containerPort: 9090}]}]}`,
	`apiVersion: v1
kind: Service
metadata: {name: inner, ownerReferences: [{apiVersion: example.com/v1, kind: Shop, name: web, uid: UID}]}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}`,
	"apiVersion: v1\nkind: Pod\nmetadata: {name: web-1, labels: {app: web}}\nspec: {containers: [{name: web, image: web}]}",
	`apiVersion: standard.oam.dev/v1alpha1
kind: Route
metadata: {name: site}
spec:
  host: shop.example.com
  workloadRef: {apiVersion: example.com/v1, kind: Shop, name: web}
  rules: [{name: a, backend: {backendService: {port: http}}}, {name: b, path: /b, backend: {backendService: {port: 9090}}}]`,
}

// volatile are the parts of objects that differ between equal namespaces.
var volatile = regexp.MustCompile(`trait-[a-z0-9]{5}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:]+Z|"(resourceVersion|clusterIPs?)":("[^"]*"|\[[^]]*\])`)

// Any order of creating the same objects ends in the same objects and status.
func TestOrderOfCreationDoesNotMatter(t *testing.T) {
	apply(t, "", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.example.com}
spec:
  group: example.com
  names: {kind: Shop, plural: shops}
  scope: Namespaced
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: shops}
rules: [{apiGroups: [example.com], resources: [shops], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: shops}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: shops}
subjects: [{kind: ServiceAccount, name: anymesh, namespace: anymesh-system}]
`)
	registry := start(t)
	want := ""
	for i, order := range [][]int{{0, 1, 2, 3, 4}, {4, 0, 1, 2, 3}, {0, 4, 3, 2, 1}, {4, 3, 0, 2, 1}, {3, 0, 1, 4, 2}} {
		ns := newNamespace(t)
		for _, n := range order {
			text := ordered[n]
			if strings.Contains(text, "UID") {
				text = strings.ReplaceAll(text, "UID", string(get(t, "example.com/v1", "Shop", ns, "web").GetUID()))
			}
			apply(t, ns, text)
			if i > 2 {
				settled(t, registry) // each object is seen alone
			}
		}
		serve(t, ns, "site-a-tiny", "site-b-tiny")
		eventually(t, fmt.Sprintf("order %v", order), func() error { return wantReady(t, ns, "site", "True", "Available") })
		settled(t, registry)
		var got strings.Builder
		for _, o := range []*unstructured.Unstructured{
			get(t, "v1", "Service", ns, "site"), get(t, "v1", "ConfigMap", ns, "site-a-tiny"), get(t, "v1", "ConfigMap", ns, "site-b-tiny"),
			get(t, routeVersion, "Route", ns, "site"),
		} {
			unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
			text, err := json.Marshal(o.Object)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, "%s\n", volatile.ReplaceAll(text, []byte("X")))
		}
		if want == "" {
			want = got.String()
			if !strings.Contains(want, `"service":"inner"`) || !strings.Contains(want, `"service":"site"`) {
				t.Errorf("the rules have other Services:\n%s", want)
			}
		}
		if got.String() != want {
			t.Errorf("order %v ends in\n%s\nwant\n%s", order, got.String(), want)
		}
	}
}
