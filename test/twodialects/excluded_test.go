package twodialects

import (
	"fmt"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/dialect/osm"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/test/cases"
)

// claimed is a pod that a VirtualNode and a mesh of Open Service Mesh select, with an annotation.
const claimed = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {mesh: m, appmesh.k8s.aws/sidecarInjectorWebhook: enabled, openservicemesh.io/monitored-by: osm}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {matchLabels: {mesh: m}}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: cart, namespace: shop}
spec:
  podSelector: {matchLabels: {app: cart}}
  listeners: [{portMapping: {port: 9080, protocol: http}}]
  serviceDiscovery: {dns: {hostname: cart.shop.svc.cluster.local}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: cart, namespace: shop}}
---
apiVersion: v1
kind: Pod
metadata: {name: cart, namespace: shop, uid: u, labels: {app: cart, anymesh.dev/proxy-uuid: u}, annotations: {anymesh.dev/dialect: "%s"}}
spec: {serviceAccountName: cart, containers: [{name: app, image: "app:1"}]}
status: {podIP: 10.200.0.1, conditions: [{type: Ready, status: "True"}]}
`

// A pod that two dialects select is an instance of a workload of the one that injection recorded, without a finding.
// Without a record, it is one of the older workload, and both have a finding.
func TestPodIsOfTheRecordedDialect(t *testing.T) {
	for recorded, want := range map[string]string{"appmesh": "m/cart_shop", "osm": "osm/shop/cart", "": "osm/shop/cart"} {
		objects, err := cases.Decode([]byte(strings.TrimPrefix(fmt.Sprintf(claimed, recorded), "\n")))
		if err != nil {
			t.Fatal(err)
		}
		state := engine.Compute([]dialect.Dialect{appmesh.Dialect{}, osm.Dialect{}}, engine.Settings{}, objects)
		var workloads []string
		for _, e := range state.Index.Model.Endpoints {
			workloads = append(workloads, e.Workload.String())
		}
		if got := strings.Join(workloads, " "); got != want {
			t.Errorf("recorded %q: an instance of %s, want %s", recorded, got, want)
		}
		conflict := false
		for _, f := range state.Findings {
			conflict = conflict || f.Code == "SelectorConflict"
		}
		if conflict != (recorded == "") {
			t.Errorf("recorded %q: findings %v", recorded, state.Findings)
		}
	}
}
