package trait

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
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

// orders are all orders of these objects in which the custom resource is before those that it owns, which have its UID.
func orders() [][]int {
	var out [][]int
	var add func(order []int)
	add = func(order []int) {
		if len(order) == len(ordered) {
			out = append(out, slices.Clone(order))
			return
		}
		for n := range ordered {
			if !slices.Contains(order, n) && (n != 1 && n != 2 || slices.Contains(order, 0)) {
				add(append(order, n))
			}
		}
	}
	add(nil)
	return out
}

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
	all := orders()
	namespaces := make([]string, len(all))
	for i, order := range all {
		namespaces[i] = newNamespace(t)
		for _, n := range order {
			text := ordered[n]
			if strings.Contains(text, "UID") {
				text = strings.ReplaceAll(text, "UID", string(get(t, "example.com/v1", "Shop", namespaces[i], "web").GetUID()))
			}
			apply(t, namespaces[i], text)
			if i%20 == 10 {
				settled(t, registry) // each object is seen alone
			}
		}
	}
	for i, order := range all {
		serve(t, namespaces[i], "site-a-tiny", "site-b-tiny")
		eventually(t, fmt.Sprintf("order %v", order), func() error {
			return wantReady(t, namespaces[i], "site", "True", "Available")
		})
	}
	settled(t, registry)
	want := ""
	for i, order := range all {
		got := objectsIn(t, namespaces[i])
		if want == "" {
			want = got
			if !strings.Contains(want, `"service":"inner"`) || !strings.Contains(want, `"service":"site"`) {
				t.Errorf("the rules have other Services:\n%s", want)
			}
		}
		if got != want {
			t.Errorf("order %v ends in\n%s\nwant\n%s", order, got, want)
		}
	}
}

// objectsIn is the text of the Route of a namespace and of its objects, without what differs between equal namespaces.
func objectsIn(t *testing.T, namespace string) string {
	t.Helper()
	var out strings.Builder
	for _, o := range []*unstructured.Unstructured{
		get(t, "v1", "Service", namespace, "site"), get(t, "v1", "ConfigMap", namespace, "site-a-tiny"),
		get(t, "v1", "ConfigMap", namespace, "site-b-tiny"), get(t, routeVersion, "Route", namespace, "site"),
	} {
		unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
		text, err := json.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n", volatile.ReplaceAll(text, []byte("X")))
	}
	return out.String()
}
