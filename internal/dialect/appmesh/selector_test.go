package appmesh_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
)

// TestSelectorSemantics tests each selector of the API: absent, empty, matching and not matching the labels a=b.
func TestSelectorSemantics(t *testing.T) {
	of := metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{"a": "b"}}
	everything := &metav1.LabelSelector{}
	for name, c := range map[string]struct {
		absent, empty bool
		selects       func(*metav1.LabelSelector) bool
	}{
		"namespaces of a Mesh": {false, true, func(s *metav1.LabelSelector) bool {
			_, err := appmesh.MeshFor("ns", of.Labels, []*api.Mesh{{Spec: api.MeshSpec{NamespaceSelector: s}}})
			return err == nil
		}},
		"pods of a VirtualNode": {false, true, func(s *metav1.LabelSelector) bool {
			found, err := appmesh.OwnerOf(&corev1.Pod{ObjectMeta: of}, "ns", []*api.VirtualNode{node("ns", "n", s)},
				nil)
			return err == nil && found.Node != nil
		}},
		"pods of a VirtualGateway": {false, true, func(s *metav1.LabelSelector) bool {
			gateway := &api.VirtualGateway{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "g"}, Spec: api.VirtualGatewaySpec{PodSelector: s},
			}
			found, err := appmesh.OwnerOf(&corev1.Pod{ObjectMeta: of}, "ns", nil, []*api.VirtualGateway{gateway})
			return err == nil && found.Gateway != nil
		}},
		"namespaces of a VirtualGateway": {false, true, func(s *metav1.LabelSelector) bool {
			_, err := appmesh.GatewayFor(&api.GatewayRoute{ObjectMeta: of}, of.Labels,
				[]*api.VirtualGateway{{Spec: api.VirtualGatewaySpec{NamespaceSelector: s}}})
			return err == nil
		}},
		"GatewayRoutes of a VirtualGateway": {true, true, func(s *metav1.LabelSelector) bool {
			_, err := appmesh.GatewayFor(&api.GatewayRoute{ObjectMeta: of}, nil, []*api.VirtualGateway{
				{Spec: api.VirtualGatewaySpec{NamespaceSelector: everything, GatewayRouteSelector: s}},
			})
			return err == nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for what, s := range map[string]struct {
				selector *metav1.LabelSelector
				want     bool
			}{"absent": {nil, c.absent}, "empty": {everything, c.empty}, "a=b": {labeled("a=b"), true}, "a=c": {labeled("a=c"), false}} {
				if got := c.selects(s.selector); got != s.want {
					t.Errorf("%s: selects %t, want %t", what, got, s.want)
				}
			}
		})
	}
}
