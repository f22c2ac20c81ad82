package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	ingressapi "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/gateway"
)

// A condition that is False for warningDelay, or then becomes True again, causes an event. A condition that is True
// from the start causes none.
func TestEventsOnConditionChange(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		c.create(t, mesh(), node("front", ""), node("back", "nowhere"))
		c.run(t)
		advance(warningDelay - 10*time.Millisecond)
		if got := c.takeEvents(); got != "" || summary(c.node(t, "back")) != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("too early: got events: %s, status %s", got, summary(c.node(t, "back")))
		}
		advance(20 * time.Millisecond)
		if got := c.takeEvents(); !strings.HasPrefix(got, "Warning ReferenceNotFound spec.backends[0]") ||
			strings.Count(got, "\n") != 0 {
			t.Errorf("got events: %s", got)
		}
		vn := c.node(t, "back")
		advance(minWriteInterval)
		c.update(t, vn, true) // changes only observedGeneration
		if got := c.takeEvents(); got != "" || len(c.takeWrites()) == 0 {
			t.Errorf("no condition changed: got events: %s", got)
		}
		advance(resyncPeriod)
		if got := c.takeEvents(); got != "" {
			t.Errorf("no condition changed: got events: %s", got)
		}
		vn = c.node(t, "back")
		vn.Spec.Backends = nil
		c.update(t, vn, true)
		if got := c.takeEvents(); got != "Normal Served VirtualNodeActive is True" {
			t.Errorf("got events: %s", got)
		}
	})
}

// An object without conditions has an event when its errors change.
func TestEventsOfObjectsWithoutConditions(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		group := &api.BackendGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "all"}}
		group.Spec.VirtualServices = []api.VirtualServiceReference{{Name: "gone"}}
		c.create(t, mesh(), group)
		c.run(t)
		const missing = "Warning ReferenceNotFound spec.virtualservices[0].name: VirtualService a/gone does not exist"
		if got := c.takeEvents(); got != "" {
			t.Errorf("too early: got events: %s", got)
		}
		advance(warningDelay)
		if got := c.takeEvents(); got != missing {
			t.Errorf("got events: %s", got)
		}
		advance(resyncPeriod)
		if got := c.takeEvents(); got != "" {
			t.Errorf("nothing changed: got events: %s", got)
		}
		group.Spec.VirtualServices = nil
		c.update(t, group, true)
		if got := c.takeEvents(); got != "Normal Served no errors and no warnings" {
			t.Errorf("got events: %s", got)
		}
		ofGroup := func(write string) bool { return strings.Contains(write, "BackendGroup") }
		if got := c.takeWrites(); slices.ContainsFunc(got, ofGroup) {
			t.Errorf("got writes %v", got)
		}
	})
}

// An Ingress has an event of its errors and warnings, also if its status is written at the same time: nothing else
// causes another reconciliation.
func TestEventsBesideAWrite(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		backend := &networkingv1.IngressServiceBackend{Name: "gone", Port: networkingv1.ServiceBackendPort{Number: 80}}
		o := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", Generation: 1}}
		o.Spec.IngressClassName = new("anymesh")
		o.Spec.Rules = []networkingv1.IngressRule{{
			Host: "web.example", IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", Backend: networkingv1.IngressBackend{Service: backend}}},
			}},
		}, {Host: "*.example"}}
		c.create(t,
			&networkingv1.IngressClass{
				ObjectMeta: metav1.ObjectMeta{Name: "anymesh"},
				Spec:       networkingv1.IngressClassSpec{Controller: ingressapi.Controller},
			},
			&corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: gateway.DefaultNamespace, Name: gateway.Name},
				Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"}},
			}, o)
		c.run(t)
		if got := c.takeWrites(); !slices.Equal(got, []string{"web"}) {
			t.Fatalf("got writes %v", got)
		}
		advance(warningDelay)
		got := c.takeEvents()
		if !strings.HasPrefix(got, "Warning ReferenceNotFound spec.rules[0].http.paths[0]") || !strings.Contains(got, "; spec.rules[1].host: ") {
			t.Errorf("got events: %q", got)
		}
		advance(resyncPeriod)
		if got := c.takeEvents(); got != "" {
			t.Errorf("nothing changed: got events: %s", got)
		}
	})
}

// Objects that are created in an order in which references are missing for a moment cause no events.
func TestNoEventsOfShortFaults(t *testing.T) {
	testCluster(t, func(t *testing.T, c *cluster) {
		group := &api.BackendGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "all"}}
		group.Spec.VirtualServices = []api.VirtualServiceReference{{Name: "nowhere"}}
		c.create(t, mesh(), node("back", "nowhere"), group)
		c.run(t)
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive False ReferenceNotFound, generation 4" {
			t.Errorf("got status %s", got)
		}
		advance(warningDelay / 2)
		c.create(t, &api.VirtualService{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "nowhere", Generation: 1}})
		advance(2 * warningDelay)
		if got := summary(c.node(t, "back")); got != "VirtualNodeActive True Served, generation 4" {
			t.Errorf("got status %s", got)
		}
		if got := c.takeEvents(); got != "" {
			t.Errorf("got events: %s", got)
		}
	})
}
