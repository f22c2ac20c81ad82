package gatewayapi

import (
	"reflect"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// TestStatusOfHTTPRoute checks that the entries of other controllers stay, that the same state changes nothing, and
// that the own entry goes with the reference.
func TestStatusOfHTTPRoute(t *testing.T) {
	other := gatewayv1.RouteParentStatus{ControllerName: "example.com/other", ParentRef: gatewayv1.ParentReference{Name: "b"}}
	o := &gatewayv1.HTTPRoute{}
	o.Generation, o.Status.Parents = 3, []gatewayv1.RouteParentStatus{other}
	attached := state{parents: []parentState{{
		gatewayv1.ParentReference{Name: "a"},
		[]condition{yes(gatewayv1.RouteConditionAccepted, gatewayv1.RouteReasonAccepted)},
	}}}
	begin := time.Unix(1_700_000_000, 0)
	status := func(o client.Object, state any, findings []model.Finding, now time.Time) *gatewayv1.HTTPRoute {
		in := dialect.StatusInput{State: state, Findings: findings, Now: now}
		return Dialect{}.Status(o, in).(*gatewayv1.HTTPRoute)
	}
	first := status(o, attached, nil, begin)
	if len(o.Status.Parents) != 1 {
		t.Error("the object is changed in place")
	}
	p := first.Status.Parents
	if len(p) != 2 || !reflect.DeepEqual(p[0], other) || p[1].ControllerName != api.Controller ||
		p[1].Conditions[0].ObservedGeneration != 3 {
		t.Fatalf("parents %+v", p)
	}
	if again := status(first, attached, nil, begin.Add(time.Hour)); !reflect.DeepEqual(again, first) {
		t.Errorf("the same state changes the status to %+v", again)
	}
	conflict := []model.Finding{{Path: "spec.rules[0]", Code: model.CodeNameConflict, Text: "is older"}}
	partial := status(first, attached, conflict, begin)
	if c := partial.Status.Parents[1].Conditions; len(c) != 2 || c[1].Type != "PartiallyInvalid" || c[1].Status != "True" {
		t.Errorf("conditions with a conflict: %+v", c)
	}
	if healed := status(partial, attached, nil, begin); !reflect.DeepEqual(healed, first) {
		t.Errorf("without the conflict, the status is %+v", healed)
	}
	left := status(first, nil, nil, begin)
	if !reflect.DeepEqual(left.Status.Parents, []gatewayv1.RouteParentStatus{other}) {
		t.Errorf("parents without reference: %+v", left.Status.Parents)
	}
}

// TestStatusOfOthers checks that a Gateway of another class keeps its status.
func TestStatusOfOthers(t *testing.T) {
	o := &gatewayv1.Gateway{}
	o.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "http"}}
	if got := (Dialect{}).Status(o, dialect.StatusInput{Now: time.Now()}); !reflect.DeepEqual(got, o) {
		t.Errorf("status %+v", got)
	}
}

// TestListenerWithoutCertificate checks that a Secret without certificate is in the conditions of the listeners of a
// Gateway or a ListenerSet that name it, and no longer when the finding is gone.
func TestListenerWithoutCertificate(t *testing.T) {
	for kind, o := range map[string]client.Object{
		"Gateway": &gatewayv1.Gateway{}, "ListenerSet": &gatewayv1.ListenerSet{},
	} {
		t.Run(kind, func(t *testing.T) { listenerWithoutCertificate(t, o) })
	}
}

// conditionsOf returns the conditions of a Gateway or a ListenerSet, and of its listeners.
func conditionsOf(o client.Object) (own []metav1.Condition, listeners [][]metav1.Condition) {
	switch o := o.(type) {
	case *gatewayv1.Gateway:
		for _, l := range o.Status.Listeners {
			listeners = append(listeners, l.Conditions)
		}
		return o.Status.Conditions, listeners
	case *gatewayv1.ListenerSet:
		for _, l := range o.Status.Listeners {
			listeners = append(listeners, l.Conditions)
		}
		return o.Status.Conditions, listeners
	}
	return nil, nil
}

func listenerWithoutCertificate(t *testing.T, before client.Object) {
	t.Helper()
	listener := func(name gatewayv1.SectionName, secret string) listenerState {
		return listenerState{name: name, secret: secret, httpRoute: true, conditions: []condition{
			yes(gatewayv1.ListenerConditionResolvedRefs, gatewayv1.ListenerReasonResolvedRefs),
			yes(gatewayv1.ListenerConditionProgrammed, gatewayv1.ListenerReasonProgrammed),
		}}
	}
	s := state{
		conditions: []condition{yes(gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayReasonAccepted)},
		listeners: []listenerState{
			listener("http", ""), listener("a", "a/web"), listener("b", "a/other"), listener("again", "a/web"),
		},
	}
	status := func(findings []model.Finding) (out [4]string, accepted string) {
		in := dialect.StatusInput{State: s, Findings: findings, Now: time.Unix(1_700_000_000, 0)}
		before = Dialect{}.Status(before, in)
		own, listeners := conditionsOf(before)
		for i, l := range listeners {
			for _, c := range l {
				out[i] += string(c.Status) + " " + c.Reason + " " + c.Message + "; "
			}
		}
		return out, own[0].Reason
	}
	const fine = "True ResolvedRefs ; True Programmed ; "
	const text = "spec.listeners[1].tls.certificateRefs[0]: Secret a/web: it has no tls.key"
	const broken = "False InvalidCertificateRef " + text + "; False Invalid " + text + "; "
	if got, accepted := status([]model.Finding{
		{Code: model.CodeNoCertificate, Path: "spec.listeners[1].tls.certificateRefs[0]", Text: "Secret a/web: it has no tls.key"},
		{Code: model.CodeInvalidField, Path: "spec.listeners[2].tls.certificateRefs[0]", Text: "another one"},
	}); got != [4]string{fine, broken, fine, broken} || accepted != "ListenersNotValid" {
		t.Errorf("with a broken Secret: %q, %s", got, accepted)
	}
	if got, accepted := status(nil); got != [4]string{fine, fine, fine, fine} || accepted != "Accepted" {
		t.Errorf("with a valid Secret: %q, %s", got, accepted)
	}
}
