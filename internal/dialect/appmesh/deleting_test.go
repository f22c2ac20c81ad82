package appmesh_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// An object that is being deleted is not served, even if a finalizer keeps it, and references to it have a finding. A
// Mesh and a VirtualGateway are served until they are deleted.
func TestDeletingObjectsAreNotServed(t *testing.T) {
	const objects = `
{apiVersion: appmesh.k8s.aws/v1beta2, kind: Mesh, metadata: {name: m}, spec: {namespaceSelector: {}}}
---
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: front, namespace: a}
spec: {backends: [{virtualService: {virtualServiceRef: {name: s}}}]}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualService, metadata: {name: s, namespace: a}}
---
{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualGateway, metadata: {name: g, namespace: a}, spec: {listeners: [{portMapping: {port: 80, protocol: http}}]}}
`
	for _, c := range []struct {
		deleted                               int
		meshes, workloads, services, findings int
	}{{-1, 1, 3, 1, 0}, {0, 1, 3, 1, 0}, {1, 1, 2, 1, 0}, {2, 1, 3, 0, 1}, {3, 1, 3, 1, 0}} {
		all := decode(t, []byte(objects+"---\n{apiVersion: appmesh.k8s.aws/v1beta2, kind: VirtualNode, metadata: {name: other, namespace: a}}\n"))
		if c.deleted >= 0 {
			all[c.deleted].SetDeletionTimestamp(new(metav1.Unix(1, 0)))
		}
		m, findings := appmesh.Dialect{}.Translate(all)
		if len(m.Meshes) != c.meshes || len(m.Workloads) != c.workloads || len(m.Services) != c.services ||
			len(findings) != c.findings {
			t.Errorf("object %d is being deleted: %d meshes, %d workloads, %d services, findings: %s", c.deleted,
				len(m.Meshes), len(m.Workloads), len(m.Services), asText(findings))
		}
		for _, f := range findings {
			if !strings.Contains(f.String(), "a/front spec.backends[0]") {
				t.Errorf("finding %s", f)
			}
		}
	}
}
