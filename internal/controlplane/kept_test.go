package controlplane

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	osmconfig "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/model"
)

func meshConfig(egress string) *osmconfig.MeshConfig {
	return &osmconfig.MeshConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: "osm-system", Name: "osm-mesh-config"},
		Spec:       osmconfig.MeshConfigSpec{"traffic": {"enableEgress": apiextensionsv1.JSON{Raw: []byte(egress)}}},
	}
}

// The settings of a deleted MeshConfig stay in force, in a replica that starts later, too, until there is another
// MeshConfig, or the copy is deleted.
func TestDeletedSettingsStay(t *testing.T) {
	t.Parallel()
	k := newPopulatedAPI(t)
	k.applyObject(t, meshConfig("true"))
	k.applyObject(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", Labels: map[string]string{"openservicemesh.io/monitored-by": "osm"},
	}})
	process := newAPIProcess(t, k)
	process.run()
	first := startReplica(t, "a", process.address)
	first.expectReady()
	expect := func(r *replica, what string, egress model.Egress, kept bool) {
		t.Helper()
		r.eventually(what, func() bool {
			state := r.engine.State()
			mesh, _ := state.Index.Mesh("osm")
			reported := slices.ContainsFunc(state.Findings, func(f model.Finding) bool {
				return f.Object.Name == "osm-mesh-config-last" && strings.Contains(f.Text, "is in force")
			})
			return mesh.Egress == egress && reported == kept
		})
	}
	last := &osmconfig.MeshConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "anymesh-system", Name: "osm-mesh-config-last"}}
	first.eventually("a copy", func() bool { return k.getObject(t, last) != nil })
	expect(first, "egress of the MeshConfig", model.EgressAllow, false)

	k.deleteObject(t, meshConfig("true"))
	expect(first, "egress of the deleted MeshConfig", model.EgressAllow, true)
	first.eventually("an event", func() bool {
		k.mu.Lock()
		defer k.mu.Unlock()
		return slices.ContainsFunc(k.listPaths("/apis/events.k8s.io/v1/events"), func(path string) bool {
			note, _, _ := unstructured.NestedString(k.objects[path].Object, "note")
			return strings.Contains(note, "is in force")
		})
	})
	second := startReplica(t, "b", process.address)
	second.expectReady()
	expect(second, "egress in a new replica", model.EgressAllow, true)

	k.applyObject(t, meshConfig("false"))
	expect(first, "no egress", model.EgressDeny, false)
	first.eventually("the copy follows", func() bool {
		egress, set, err := unstructured.NestedBool(k.getObject(t, last).Object, "spec", "traffic", "enableEgress")
		return set && err == nil && !egress
	})
	k.deleteObject(t, meshConfig("false"))
	expect(first, "no egress still", model.EgressDeny, true)
	k.deleteObject(t, last)
	expect(first, "the defaults", model.EgressDeny, false)
}
