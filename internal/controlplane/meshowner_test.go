package controlplane

import (
	"testing"
	"testing/synctest"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// A change of the owner of a mesh changes the node ID of its workloads. Pods have the earlier one until they are
// created again; they are authorized when they reconnect, with the same key, so that their streams stay.
func TestAuthorizeAfterChangeOfOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ca, cp := newCA(t), newTestControlPlane()
		cp.addPod("front", "uid-1")
		cp.start(t)
		known := peer(t, ca, "front-1", "uid-1")
		for _, owner := range []string{"123456789012", "210987654321", ""} {
			mesh := &api.Mesh{
				ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{}},
			}
			want := "mesh/m/virtualNode/front_a"
			if owner != "" {
				mesh.Spec.MeshOwner = &owner
				want = "mesh/m@" + owner + "/virtualNode/front_a"
			}
			cp.engine.Set(mesh)
			synctest.Wait()
			if w, _ := cp.engine.WorkloadOf("uid-1"); w.NodeID != want {
				t.Errorf("owner %q: got node ID %s, want %s", owner, w.NodeID, want)
			}
			for id, ok := range map[string]bool{
				"mesh/m/virtualNode/front_a": true, "mesh/m@123456789012/virtualNode/front_a": true, want: true,
				"mesh/m@123456789012/virtualNode/back_a": false, "mesh/n@123456789012/virtualNode/front_a": false,
			} {
				grant, err := cp.authorize(t.Context(), known, &corev3.Node{Id: id})
				if (err == nil) != ok || ok && grant.Key != "m/front_a" {
					t.Errorf("owner %q, node ID %s: got grant %v, error %v", owner, id, grant, err)
				}
			}
		}
	})
}
