package gateway

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
)

// A cached EndpointSlice has what rules read, and not more.
func TestTrimSlice(t *testing.T) {
	var full, want discoveryv1.EndpointSlice
	for into, text := range map[*discoveryv1.EndpointSlice]string{
		&full: `
metadata:
  name: web-x
  generateName: web-
  namespace: a
  uid: u
  resourceVersion: "7"
  generation: 3
  labels: {kubernetes.io/service-name: web, endpointslice.kubernetes.io/managed-by: endpointslice-controller.k8s.io}
  annotations: {endpoints.kubernetes.io/last-change-trigger-time: "2026-01-01T00:00:00Z"}
  ownerReferences: [{apiVersion: v1, kind: Service, name: web, uid: s}]
addressType: IPv4
ports: [{name: http, port: 80, protocol: TCP, appProtocol: http}, {port: 53, protocol: UDP}]
endpoints:
  - addresses: [10.0.0.1]
    conditions: {ready: true, serving: true, terminating: false}
    nodeName: n
    zone: z
    targetRef: {kind: Pod, namespace: a, name: web-1, uid: p, resourceVersion: "5"}
  - {addresses: [10.0.0.2], conditions: {ready: false}, hostname: h}
  - {addresses: [10.0.0.3]}`,
		&want: `
metadata: {name: web-x, namespace: a, uid: u, resourceVersion: "7", generation: 3, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 80, protocol: TCP}, {port: 53, protocol: UDP}]
endpoints:
  - addresses: [10.0.0.1]
    conditions: {ready: true}
    targetRef: {kind: Pod, namespace: a, name: web-1, uid: p}
  - {addresses: [10.0.0.2], conditions: {ready: false}}
  - {addresses: [10.0.0.3]}`,
	} {
		if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	object, err := trimSlice(full.DeepCopy())
	trimmed := object.(*discoveryv1.EndpointSlice)
	if err != nil || !reflect.DeepEqual(trimmed, &want) {
		t.Errorf("got %+v, want %+v", trimmed, want)
	}
	before, after := endpointsOf(&full), endpointsOf(trimmed)
	if before != after || !strings.Contains(before, "10.0.0.3") {
		t.Errorf("got endpoints\n%s\nwant\n%s", after, before)
	}
	again, err := trimSlice(full.DeepCopy())
	if ready := again.(*discoveryv1.EndpointSlice).Endpoints[0].Conditions.Ready; err != nil ||
		ready != trimmed.Endpoints[0].Conditions.Ready {
		t.Error("two slices have a condition each")
	}
}

// endpointsOf describes the endpoints and pods that the rule makes of a slice.
func endpointsOf(slice *discoveryv1.EndpointSlice) string {
	g := incremental.New()
	objects, out, r := store.NewObjects(g), store.NewModel(g), newGateway(g)
	rule := incremental.NewRule(g, "EndpointSlice")
	incremental.Each(rule, store.Of[*discoveryv1.EndpointSlice](objects), &sliceRule{
		ready: incremental.Emits(rule, r.ready), pods: incremental.Emits(rule, r.pods), endpoints: out.EmitsEndpoints(rule),
	}, (*sliceRule).evaluate)
	objects.Set(slice)
	g.Run()
	return fmt.Sprintf("%+v %+v %+v", out.Snapshot(), r.pods.Get("a/web:http"), r.ready.Get("a/web:http"))
}
