package gatewayapi

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	attach "anymesh.dev/anymesh/api/gatewayapi"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// relations are the relations between the rules of Gateway API.
type relations struct {
	classes   *incremental.Relation[string, struct{}]
	listeners *incremental.Relation[parentKey, attachedTo]
	// attached are the HTTPRoutes of a listener, or the ListenerSets of a Gateway.
	attached *incremental.Relation[listenerKey, model.ObjectRef]
	states   *incremental.Relation[model.ObjectRef, state]
}

// Rules adds the rules.
func (d Dialect) Rules(g *incremental.Graph, objects *store.Objects, out *store.Model) {
	if !d.Enabled {
		return
	}
	to := gateway.Of(g, objects, out, d.Gateway)
	own := relations{
		states: store.NewStates[state](g, out),
		classes: incremental.NewRelation[string](g, "classes of Gateways", func(struct{}, struct{}) int { return 0 },
			func(struct{}, struct{}) bool { return true }),
		listeners: incremental.NewRelation[parentKey](g, "listeners", attachedTo.compare,
			func(a, b attachedTo) bool { return reflect.DeepEqual(a, b) }),
		attached: incremental.NewRelation[listenerKey](g, "attached objects", model.ObjectRef.Compare,
			func(a, b model.ObjectRef) bool { return a == b }),
	}
	rule := incremental.NewRule(g, "GatewayClass")
	incremental.Each(rule, store.Of[*gatewayv1.GatewayClass](objects), &gatewayClassRule{
		incremental.Emits(rule, own.classes), incremental.Emits(rule, own.states),
	}, (*gatewayClassRule).evaluate)
	rule = incremental.NewRule(g, "listeners of a Gateway")
	incremental.Each(rule, store.Of[*gatewayv1.Gateway](objects), &gatewayListenerRule{
		incremental.Reads(rule, own.classes), incremental.Emits(rule, own.listeners),
	}, (*gatewayListenerRule).evaluate)
	rule = incremental.NewRule(g, "listeners of a ListenerSet")
	incremental.Each(rule, store.Of[*gatewayv1.ListenerSet](objects), &setListenerRule{
		setReader: setReader{
			gateways:   incremental.Reads(rule, store.Of[*gatewayv1.Gateway](objects)),
			classes:    incremental.Reads(rule, own.classes),
			namespaces: incremental.Reads(rule, store.Of[*corev1.Namespace](objects)),
		},
		listeners: incremental.Emits(rule, own.listeners), attached: incremental.Emits(rule, own.attached),
	}, (*setListenerRule).evaluate)
	rule = incremental.NewRule(g, "HTTPRoute")
	incremental.Each(rule, store.Of[*gatewayv1.HTTPRoute](objects), &httpRouteRule{
		listeners:  incremental.Reads(rule, own.listeners),
		namespaces: incremental.Reads(rule, store.Of[*corev1.Namespace](objects)),
		services:   incremental.Reads(rule, store.Of[*corev1.Service](objects)),
		hosts:      to.EmitsHosts(rule), attached: incremental.Emits(rule, own.attached),
		members: own.emitsMembers(rule, out), findings: out.EmitsFindings(rule),
	}, (*httpRouteRule).evaluate)
	rule = incremental.NewRule(g, "status of a Gateway")
	incremental.Each(rule, store.Of[*gatewayv1.Gateway](objects), &gatewayStatusRule{
		incremental.Reads(rule, own.classes), incremental.Reads(rule, own.listeners), incremental.Reads(rule, own.attached),
		to.ReadsAddresses(rule), own.emitsMembers(rule, out),
	}, (*gatewayStatusRule).evaluate)
	rule = incremental.NewRule(g, "status of a ListenerSet")
	incremental.Each(rule, store.Of[*gatewayv1.ListenerSet](objects), &setStatusRule{
		setReader: setReader{
			gateways:   incremental.Reads(rule, store.Of[*gatewayv1.Gateway](objects)),
			classes:    incremental.Reads(rule, own.classes),
			namespaces: incremental.Reads(rule, store.Of[*corev1.Namespace](objects)),
		},
		listeners: incremental.Reads(rule, own.listeners), attached: incremental.Reads(rule, own.attached),
		members: own.emitsMembers(rule, out),
	}, (*setStatusRule).evaluate)
}

// gatewayListenerRule adds the listeners of Gateways.
type gatewayListenerRule struct {
	classes   *incremental.Reader[string, struct{}]
	listeners *incremental.Emitter[parentKey, attachedTo]
}

func (r *gatewayListenerRule) evaluate(id types.NamespacedName, all []*gatewayv1.Gateway) {
	gateway := all[0]
	_, served := r.classes.ReadFirst(string(gateway.Spec.GatewayClassName))
	if !served || gateway.DeletionTimestamp != nil {
		return
	}
	valid := gatewayFault(gateway) == condition{}
	for i, l := range gateway.Spec.Listeners {
		listener := newListener(originOf("Gateway", gateway), gateway.Namespace, i, l)
		listener.served = listener.served && valid
		r.listeners.Emit(parentKey{"Gateway", id.Namespace, id.Name}, listener)
	}
}

// setReader finds the Gateways of ListenerSets.
type setReader struct {
	gateways   *incremental.Reader[types.NamespacedName, *gatewayv1.Gateway]
	classes    *incremental.Reader[string, struct{}]
	namespaces *incremental.Reader[types.NamespacedName, *corev1.Namespace]
}

// parent returns the Gateway of a ListenerSet if it is served here, and whether it accepts the set.
func (r *setReader) parent(set *gatewayv1.ListenerSet) (*gatewayv1.Gateway, condition) {
	ref := set.Spec.ParentRef
	key := types.NamespacedName{Namespace: set.Namespace, Name: string(ref.Name)}
	if ref.Namespace != nil {
		key.Namespace = string(*ref.Namespace)
	}
	if ref.Kind != nil && *ref.Kind != "Gateway" || ref.Group != nil && *ref.Group != gatewayv1.GroupName {
		return nil, condition{}
	}
	gateway, known := r.gateways.ReadFirst(key)
	if !known || set.DeletionTimestamp != nil || gateway.DeletionTimestamp != nil {
		return nil, condition{}
	}
	if _, served := r.classes.ReadFirst(string(gateway.Spec.GatewayClassName)); !served {
		return nil, condition{}
	}
	switch fault := gatewayFault(gateway); {
	case fault != condition{}:
		return gateway, no(gatewayv1.ListenerSetConditionAccepted, gatewayv1.ListenerSetReasonParentNotAccepted,
			fmt.Sprintf("Gateway %s is not accepted: %s", key, fault.Message))
	case !attach.SetNamespaces(gateway).Allow(set.Namespace, labelsOf(r.namespaces)):
		return gateway, no(gatewayv1.ListenerSetConditionAccepted, gatewayv1.ListenerSetReasonNotAllowed,
			fmt.Sprintf("spec.allowedListeners of Gateway %s does not allow namespace %s", key, set.Namespace))
	}
	return gateway, yes(gatewayv1.ListenerSetConditionAccepted, gatewayv1.ListenerSetReasonAccepted)
}

// setListenerRule adds the listeners of ListenerSets.
type setListenerRule struct {
	setReader
	listeners *incremental.Emitter[parentKey, attachedTo]
	attached  *incremental.Emitter[listenerKey, model.ObjectRef]
}

func (r *setListenerRule) evaluate(id types.NamespacedName, all []*gatewayv1.ListenerSet) {
	set := all[0]
	gateway, accepted := r.parent(set)
	if gateway == nil {
		return
	}
	for i, l := range set.Spec.Listeners {
		listener := newListener(originOf("ListenerSet", set), set.Namespace, i, gatewayv1.Listener(l))
		listener.served = listener.served && accepted.True
		r.listeners.Emit(parentKey{"ListenerSet", id.Namespace, id.Name}, listener)
	}
	if accepted.True {
		r.attached.Emit(listenerKey{parentKey: parentKey{"Gateway", gateway.Namespace, gateway.Name}},
			originOf("ListenerSet", set).Object())
	}
}

// listenerStates returns the states of the listeners of a parent, and whether all and any of them are served.
func listenerStates(key parentKey, listeners *incremental.Reader[parentKey, attachedTo],
	attached *incremental.Reader[listenerKey, model.ObjectRef]) (out []listenerState, all, some bool) {
	all = true
	for _, l := range listeners.Read(key) {
		programmed := yes(gatewayv1.ListenerConditionProgrammed, gatewayv1.ListenerReasonProgrammed)
		if !l.served {
			programmed = no(gatewayv1.ListenerConditionProgrammed, gatewayv1.ListenerReasonInvalid,
				cmp.Or(l.accepted.Message, l.resolved.Message, "the object with the listener is not accepted"))
		}
		all, some = all && l.served, some || l.served
		out = append(out, listenerState{
			name: l.section, secret: l.secret, routes: int32(len(attached.Read(listenerKey{key, l.section}))),
			httpRoute:  l.served || l.resolved.Reason != string(gatewayv1.ListenerReasonInvalidRouteKinds),
			conditions: []condition{l.accepted, l.resolved, programmed},
		})
	}
	return out, all, some
}

// gatewayStatusRule writes the states of Gateways.
type gatewayStatusRule struct {
	classes   *incremental.Reader[string, struct{}]
	listeners *incremental.Reader[parentKey, attachedTo]
	attached  *incremental.Reader[listenerKey, model.ObjectRef]
	addresses gateway.Addresses
	members   members
}

func (r *gatewayStatusRule) evaluate(id types.NamespacedName, all []*gatewayv1.Gateway) {
	gateway := all[0]
	_, served := r.classes.ReadFirst(string(gateway.Spec.GatewayClassName))
	if !served || gateway.DeletionTimestamp != nil {
		return
	}
	key := parentKey{"Gateway", id.Namespace, id.Name}
	state := state{sets: int32(len(r.attached.Read(listenerKey{parentKey: key})))}
	var every bool
	state.listeners, every, _ = listenerStates(key, r.listeners, r.attached)
	state.addresses = r.addresses.Read()
	accepted := yes(gatewayv1.GatewayConditionAccepted, gatewayv1.GatewayReasonAccepted)
	programmed := yes(gatewayv1.GatewayConditionProgrammed, gatewayv1.GatewayReasonProgrammed)
	if !every {
		accepted.Reason, accepted.Message = string(gatewayv1.GatewayReasonListenersNotValid), "some listeners are not served"
	}
	if len(state.addresses) == 0 {
		programmed = no(gatewayv1.GatewayConditionProgrammed, gatewayv1.GatewayReasonAddressNotAssigned,
			"the Service of the gateway has no address")
	}
	at := originOf("Gateway", gateway)
	for _, l := range state.listeners {
		r.members.reportListener(at, l)
	}
	if fault := gatewayFault(gateway); fault != (condition{}) {
		r.members.report(at, fault, "the Gateway is not served")
		accepted = fault
		programmed = no(gatewayv1.GatewayConditionProgrammed, gatewayv1.GatewayReasonInvalid, fault.Message)
	}
	state.conditions = []condition{accepted, programmed}
	r.members.emit(at.Object(), state)
}

// setStatusRule writes the states of ListenerSets.
type setStatusRule struct {
	setReader
	listeners *incremental.Reader[parentKey, attachedTo]
	attached  *incremental.Reader[listenerKey, model.ObjectRef]
	members   members
}

func (r *setStatusRule) evaluate(id types.NamespacedName, all []*gatewayv1.ListenerSet) {
	set := all[0]
	gateway, accepted := r.parent(set)
	if gateway == nil {
		return
	}
	var state state
	var every, some bool
	state.listeners, every, some = listenerStates(parentKey{"ListenerSet", id.Namespace, id.Name}, r.listeners, r.attached)
	at := originOf("ListenerSet", set)
	r.members.report(at, accepted, "the ListenerSet is not served")
	programmed := yes(gatewayv1.ListenerSetConditionProgrammed, gatewayv1.ListenerSetReasonProgrammed)
	switch {
	case !accepted.True:
		programmed = no(gatewayv1.ListenerSetConditionProgrammed, gatewayv1.ListenerSetReasonInvalid, accepted.Message)
	case !some:
		accepted = no(gatewayv1.ListenerSetConditionAccepted, gatewayv1.ListenerSetReasonListenersNotValid,
			"no listener is served")
		programmed = no(gatewayv1.ListenerSetConditionProgrammed, gatewayv1.ListenerSetReasonListenersNotValid,
			"no listener is served")
	case !every:
		accepted.Reason = string(gatewayv1.ListenerSetReasonListenersNotValid)
		accepted.Message = "some listeners are not served"
	}
	state.conditions = []condition{accepted, programmed}
	for _, l := range state.listeners {
		r.members.reportListener(at, l)
	}
	r.members.emit(at.Object(), state)
}

// parentKeyOf returns the object that a reference of an HTTPRoute names.
func parentKeyOf(ref gatewayv1.ParentReference, namespace string) (parentKey, bool) {
	out := parentKey{"Gateway", namespace, string(ref.Name)}
	if ref.Kind != nil {
		out.kind = string(*ref.Kind)
	}
	if ref.Namespace != nil {
		out.namespace = string(*ref.Namespace)
	}
	return out, ref.Group == nil || strings.EqualFold(string(*ref.Group), gatewayv1.GroupName)
}
