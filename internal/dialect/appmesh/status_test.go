package appmesh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/model"
)

var someTime = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func finding(kind, namespace, name, path string, code model.Code) model.Finding {
	return model.NewFinding(model.NewOrigin(model.ObjectRef{Group: "appmesh.k8s.aws", Kind: kind, Namespace: namespace, Name: name}).At(path), code, "text of "+path)
}

func TestStatusOfEachKind(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "x", Namespace: "ns", Generation: 7}
	check := func(kind string, arn *string, wantARN string, conditions []api.Condition, wantType string,
		generation *int64) {
		t.Helper()
		if got := ptr.Deref(arn, ""); got != wantARN {
			t.Errorf("%s: ARN is %q, want %q", kind, got, wantARN)
		}
		if len(conditions) != 1 || conditions[0].Type != wantType || conditions[0].Status != corev1.ConditionTrue ||
			conditions[0].Reason != "Served" || conditions[0].Message != "" || !conditions[0].LastTransitionTime.Equal(new(metav1.NewTime(someTime))) {
			t.Errorf("%s: conditions are %+v, want one %s", kind, conditions, wantType)
		}
		if generation == nil || *generation != 7 {
			t.Errorf("%s: observedGeneration is %v, want 7", kind, generation)
		}
	}
	const prefix = "arn:aws:appmesh:anymesh:000000000000:mesh/m"
	mesh := appmesh.Status(&api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "x", Generation: 7}}, "m", nil,
		someTime).(*api.Mesh).Status
	check("Mesh", mesh.MeshARN, prefix, mesh.Conditions, "MeshActive", mesh.ObservedGeneration)
	node := appmesh.Status(&api.VirtualNode{ObjectMeta: meta}, "m", nil, someTime).(*api.VirtualNode).Status
	check("VirtualNode", node.VirtualNodeARN, prefix+"/virtualNode/x_ns", node.Conditions, "VirtualNodeActive",
		node.ObservedGeneration)
	service := appmesh.Status(&api.VirtualService{ObjectMeta: meta}, "m", nil, someTime).(*api.VirtualService).Status
	check("VirtualService", service.VirtualServiceARN, prefix+"/virtualService/x.ns", service.Conditions,
		"VirtualServiceActive", service.ObservedGeneration)
	router := appmesh.Status(&api.VirtualRouter{ObjectMeta: meta}, "m", nil, someTime).(*api.VirtualRouter).Status
	check("VirtualRouter", router.VirtualRouterARN, prefix+"/virtualRouter/x_ns", router.Conditions,
		"VirtualRouterActive", router.ObservedGeneration)
	gateway := appmesh.Status(&api.VirtualGateway{ObjectMeta: meta}, "m", nil, someTime).(*api.VirtualGateway).Status
	check("VirtualGateway", gateway.VirtualGatewayARN, prefix+"/virtualGateway/x_ns", gateway.Conditions,
		"VirtualGatewayActive", gateway.ObservedGeneration)
	route := appmesh.Status(&api.GatewayRoute{ObjectMeta: meta}, "m", nil, someTime).(*api.GatewayRoute).Status
	check("GatewayRoute", route.GatewayRouteARN, "", route.Conditions, "GatewayRouteActive", // it has no VirtualGateway
		route.ObservedGeneration)
}

func TestConditionSummarizesFindings(t *testing.T) {
	for name, c := range map[string]struct {
		findings       []model.Finding
		status         corev1.ConditionStatus
		reason, inText string
	}{
		"no findings": {nil, "True", "Served", ""},
		"warning":     {[]model.Finding{finding("VirtualNode", "ns", "x", "spec.logging", model.CodeFieldNotImplemented)}, "True", "FieldNotImplemented", "spec.logging: text of spec.logging"},
		"errors first": {[]model.Finding{
			finding("VirtualNode", "ns", "x", "spec.a", model.CodeFieldNotImplemented),
			finding("VirtualNode", "ns", "x", "spec.b", model.CodeInvalidField),
		}, "False", "InvalidField", "spec.b: text of spec.b; spec.a: text of spec.a"},
		"others' findings": {[]model.Finding{
			finding("VirtualNode", "other", "x", "spec.a", model.CodeInvalidField),
			finding("VirtualRouter", "ns", "x", "spec.a", model.CodeInvalidField),
		}, "True", "Served", ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
			got := appmesh.Status(node, "m", c.findings, someTime).(*api.VirtualNode).Status.Conditions[0]
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.inText) {
				t.Errorf("got %+v, want %s %s with %q", got, c.status, c.reason, c.inText)
			}
		})
	}
}

func TestLongMessagesAreTruncated(t *testing.T) {
	var many []model.Finding
	for i := range 100 {
		many = append(many, finding("VirtualNode", "ns", "x", "spec."+strings.Repeat("x", i), model.CodeInvalidField))
	}
	node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	got := appmesh.Status(node, "m", many, someTime).(*api.VirtualNode).Status.Conditions[0].Message
	if !strings.HasSuffix(got, "; and 92 more") {
		t.Errorf("message ends in %q, want the number of omitted findings", got[len(got)-30:])
	}
}

func TestTransitionTimeMovesOnlyWithTheStatus(t *testing.T) {
	node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	first := appmesh.Status(node, "m", nil, someTime).(*api.VirtualNode)
	warned := appmesh.Status(first, "m",
		[]model.Finding{finding("VirtualNode", "ns", "x", "spec.a", model.CodeFieldNotImplemented)},
		someTime.Add(time.Hour)).(*api.VirtualNode)
	if got := warned.Status.Conditions[0]; !got.LastTransitionTime.Time.Equal(someTime) ||
		got.Reason != "FieldNotImplemented" {
		t.Errorf("status stays True, got %+v", got)
	}
	failed := appmesh.Status(warned, "m",
		[]model.Finding{finding("VirtualNode", "ns", "x", "spec.a", model.CodeInvalidField)},
		someTime.Add(2*time.Hour)).(*api.VirtualNode)
	if got := failed.Status.Conditions[0]; !got.LastTransitionTime.Time.Equal(someTime.Add(2 * time.Hour)) {
		t.Errorf("status becomes False, got %+v", got)
	}
}

// Existing ARNs of objects from the released controller are kept: they are in use elsewhere.
func TestStoredARNsStay(t *testing.T) {
	router := &api.VirtualRouter{
		ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"},
		Spec:       api.VirtualRouterSpec{Routes: []api.Route{{Name: "old"}, {Name: "new"}}},
		Status: api.VirtualRouterStatus{
			VirtualRouterARN: new("arn:aws:appmesh:eu-west-1:1:mesh/m/virtualRouter/x_ns"),
			RouteARNs:        map[string]string{"old": "arn:old", "removed": "arn:removed"},
		},
	}
	got := appmesh.Status(router, "m", nil, someTime).(*api.VirtualRouter).Status
	if *got.VirtualRouterARN != *router.Status.VirtualRouterARN {
		t.Errorf("ARN is now %s", *got.VirtualRouterARN)
	}
	want := map[string]string{"old": "arn:old", "new": *router.Status.VirtualRouterARN + "/route/new"}
	if len(got.RouteARNs) != 2 || got.RouteARNs["old"] != want["old"] || got.RouteARNs["new"] != want["new"] {
		t.Errorf("route ARNs are %v, want %v", got.RouteARNs, want)
	}
}

// A router with very many routes gets no ARNs of routes, which would take the place of its conditions.
func TestStatusOfALargeRouterFits(t *testing.T) {
	router := &api.VirtualRouter{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	for i := range 8000 {
		router.Spec.Routes = append(router.Spec.Routes, api.Route{Name: fmt.Sprint("r", i)})
	}
	router.Status.RouteARNs = map[string]string{"r7": "arn:old"}
	got := appmesh.Status(router, "m", nil, someTime).(*api.VirtualRouter).Status
	if len(got.RouteARNs) != 1 || got.RouteARNs["r7"] != "arn:old" || len(got.Conditions) == 0 {
		t.Errorf("%d ARNs, conditions %v; want the stored ARN and a condition", len(got.RouteARNs), got.Conditions)
	}
}

func TestObjectsOutsideAMeshGetNoARN(t *testing.T) {
	node := &api.VirtualNode{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: "ns"}}
	if got := appmesh.Status(node, "", nil, someTime).(*api.VirtualNode).Status.VirtualNodeARN; got != nil {
		t.Errorf("ARN is %s, want none", *got)
	}
}

func TestMeshNames(t *testing.T) {
	got := appmesh.MeshNames(readCase(t, caseFolder+"membership.txtar").objects)
	for ref, want := range map[model.ObjectRef]string{
		{Group: "appmesh.k8s.aws", Kind: "Mesh", Name: "one"}:                                        "first",
		{Group: "appmesh.k8s.aws", Kind: "VirtualService", Namespace: "a", Name: "selected"}:         "first",
		{Group: "appmesh.k8s.aws", Kind: "VirtualService", Namespace: "b", Name: "recorded"}:         "selects-nothing",
		{Group: "appmesh.k8s.aws", Kind: "VirtualService", Namespace: "b", Name: "of-an-older-mesh"}: "",
		{Group: "appmesh.k8s.aws", Kind: "VirtualService", Namespace: "c", Name: "of-no-mesh"}:       "",
	} {
		if got[ref] != want {
			t.Errorf("%s: mesh %q, want %q", ref, got[ref], want)
		}
	}
}
