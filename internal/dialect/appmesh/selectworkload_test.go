package appmesh_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

func node(namespace, name string, selector *metav1.LabelSelector) *api.VirtualNode {
	return &api.VirtualNode{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       api.VirtualNodeSpec{PodSelector: selector},
	}
}

func labeled(labels ...string) *metav1.LabelSelector {
	s := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	for _, l := range labels {
		k, v, _ := strings.Cut(l, "=")
		s.MatchLabels[k] = v
	}
	return s
}

func TestOwnerOf(t *testing.T) {
	nodes := []*api.VirtualNode{
		node("ns", "none", nil), node("ns", "red", labeled("color=red")), node("ns", "big", labeled("size=big")),
		node("ns", "broken", &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "color", Operator: "Roughly"}},
		}),
		node("open", "all", labeled()),
	}
	gateways := []*api.VirtualGateway{
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw"}, Spec: api.VirtualGatewaySpec{PodSelector: labeled("role=gateway")}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "gw2"}, Spec: api.VirtualGatewaySpec{PodSelector: labeled("size=big", "role=gateway")}},
	}
	for name, c := range map[string]struct {
		namespace     string
		labels        map[string]string
		node, gateway string
		wantErr       string
	}{
		"no labels":           {"ns", nil, "", "", ""},
		"one VirtualNode":     {"ns", map[string]string{"color": "red"}, "red", "", ""},
		"two VirtualNodes":    {"ns", map[string]string{"color": "red", "size": "big"}, "", "", "found multiple matching VirtualNodes for pod ns/pod-: big,red"},
		"other namespace":     {"other", map[string]string{"color": "red"}, "", "", ""},
		"empty selector":      {"open", nil, "all", "", ""},
		"a VirtualGateway":    {"ns", map[string]string{"role": "gateway"}, "", "gw", ""},
		"two VirtualGateways": {"ns", map[string]string{"role": "gateway", "size": "big", "color": "blue"}, "", "", "found multiple matching VirtualGateways for pod ns/pod-: gw,gw2"},
		"node and gateway":    {"ns", map[string]string{"role": "gateway", "color": "red"}, "", "", "found both VirtualNode red and VirtualGateway gw matching pod ns/pod-"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-", Labels: c.labels}}
			got, err := appmesh.OwnerOf(pod, c.namespace, nodes, gateways)
			if c.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErr) {
					t.Errorf("got error %v, want %q", err, c.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if (got.Node != nil) != (c.node != "") || got.Node != nil && got.Node.Name != c.node ||
				(got.Gateway != nil) != (c.gateway != "") || got.Gateway != nil && got.Gateway.Name != c.gateway {
				t.Errorf("got %+v, want node %q, gateway %q", got, c.node, c.gateway)
			}
		})
	}
}

func TestSelectWorkload(t *testing.T) {
	objects := decode(t, []byte(validMesh+"---\n"+`
apiVersion: appmesh.k8s.aws/v1beta2
kind: VirtualNode
metadata: {name: orphan, namespace: a}
spec: {podSelector: {matchLabels: {app: orphan}}, meshRef: {name: gone, uid: gone}}
`))
	pod := func(app string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": app}}}
	}
	key, ok, err := appmesh.Dialect{}.SelectWorkload(objects, pod("front"), "a")
	if err != nil || !ok || key != (model.Key{Mesh: "m", Name: "front_a"}) {
		t.Errorf("front: got %v %t %v", key, ok, err)
	}
	if _, ok, err := (appmesh.Dialect{}).SelectWorkload(objects, pod("unknown"), "a"); ok || err != nil {
		t.Errorf("pod without a VirtualNode: got %t %v, want false and no error", ok, err)
	}
	_, ok, err = appmesh.Dialect{}.SelectWorkload(objects, pod("orphan"), "a")
	if ok || err == nil || !strings.Contains(err.Error(), "VirtualNode a/orphan selects pod a/p but is not served: MeshMismatch: ") {
		t.Errorf("orphan: got %t %v, want an error with the VirtualNode and the reason", ok, err)
	}
	deleted := node("a", "deleted", labeled("app=deleted"))
	deleted.DeletionTimestamp, deleted.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x"}
	_, ok, err = appmesh.Dialect{}.SelectWorkload(append(objects, deleted), pod("deleted"), "a")
	var leaving *dialect.LeavingError
	if ok || !errors.As(err, &leaving) || !strings.Contains(err.Error(), "VirtualNode a/deleted selects pod a/p but is being deleted") {
		t.Errorf("deleted: got %t %v, want an error with the VirtualNode that is being deleted", ok, err)
	}
}
