package gateway

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/internal/trait/provider"
)

// State implements provider.Provider.
func (p Provider) State(route provider.Route, reader provider.Reader) provider.State {
	want := p.Render(route, reader)
	if want.Waiting != nil {
		return provider.State{Waiting: want.Waiting}
	}
	gateway, waiting := find(route, reader)
	if waiting != nil {
		return provider.State{Waiting: waiting}
	}
	object := reader.Get(GatewayKind, gateway.Namespace, gateway.Name)
	out := provider.State{Addresses: addresses(object)}
	if out.Waiting = summary(object, "GatewayNotReady"); out.Waiting != nil {
		return out
	}
	for _, w := range want.Objects {
		kind := w.GroupVersionKind()
		found := reader.Get(kind, w.GetNamespace(), w.GetName())
		if found == nil {
			out.Waiting = &provider.Reason{Reason: "Creating", Message: provider.Describe(w) + " does not exist yet"}
			return out
		}
		if kind == ListenerSetKind {
			out.Waiting = listenerSet(found)
		} else {
			out.Waiting = httpRouteState(found)
		}
		if out.Waiting != nil {
			return out
		}
	}
	return out
}

// addresses returns the addresses in the status of a Gateway.
func addresses(gateway *unstructured.Unstructured) []string {
	list, _, _ := unstructured.NestedSlice(gateway.Object, "status", "addresses")
	var out []string
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if value, _ := entry["value"].(string); value != "" {
			out = append(out, value)
		}
	}
	return out
}

// summary returns nil if an object is accepted and programmed.
func summary(object *unstructured.Unstructured, reason string) *provider.Reason {
	for _, kind := range []string{"Accepted", "Programmed"} {
		c := provider.ConditionOf(object.Object, kind, "status", "conditions")
		if !c.IsTrue(object.GetGeneration()) {
			return &provider.Reason{Reason: reason, Message: fmt.Sprintf("%s is not %s: %s", provider.Describe(object),
				strings.ToLower(kind), c.Describe(object.GetGeneration()))}
		}
	}
	return nil
}

// listenerSet returns nil if all listeners of a ListenerSet are served.
func listenerSet(object *unstructured.Unstructured) *provider.Reason {
	const reason = "ListenerNotReady"
	listeners, _, _ := unstructured.NestedSlice(object.Object, "status", "listeners")
	for _, item := range listeners {
		listener, _ := item.(map[string]any)
		name, _ := listener["name"].(string)
		for _, kind := range []string{"Conflicted", "ResolvedRefs", "Accepted", "Programmed"} {
			c := provider.ConditionOf(listener, kind, "conditions")
			bad := "False"
			if kind == "Conflicted" {
				bad = "True"
			}
			if c.Status == bad {
				return &provider.Reason{Reason: reason, Message: fmt.Sprintf("the listener %s of %s has the condition %s %s: %s",
					name, provider.Describe(object), kind, c.Status, c.Describe(object.GetGeneration()))}
			}
		}
	}
	return summary(object, reason)
}

// httpRouteState returns nil if each parent of an HTTPRoute has accepted it.
func httpRouteState(object *unstructured.Unstructured) *provider.Reason {
	const reason = "RouteNotAccepted"
	parents, _, _ := unstructured.NestedSlice(object.Object, "spec", "parentRefs")
	statuses, _, _ := unstructured.NestedSlice(object.Object, "status", "parents")
	for _, item := range parents {
		ref, _ := item.(map[string]any)
		status := map[string]any{}
		for _, s := range statuses {
			one, _ := s.(map[string]any)
			if other, _ := one["parentRef"].(map[string]any); sameParent(ref, other, object.GetNamespace()) {
				status = one
			}
		}
		parent := fmt.Sprintf("%s %s/%s", ref["kind"], ref["namespace"], ref["name"])
		for _, kind := range []string{"Accepted", "ResolvedRefs"} {
			c := provider.ConditionOf(status, kind, "conditions")
			if !c.IsTrue(object.GetGeneration()) {
				return &provider.Reason{Reason: reason, Message: fmt.Sprintf("%s does not have the condition %s of %s: %s",
					provider.Describe(object), kind, parent, c.Describe(object.GetGeneration()))}
			}
		}
		if c := provider.ConditionOf(status, "PartiallyInvalid", "conditions"); c.Status == "True" {
			return &provider.Reason{Reason: reason, Message: fmt.Sprintf("%s is partially invalid for %s: %s",
				provider.Describe(object), parent, c.Describe(object.GetGeneration()))}
		}
	}
	return nil
}

// sameParent reports whether two references to parents are equal. Implementations may leave out defaults.
func sameParent(a, b map[string]any, namespace string) bool {
	for field, missing := range map[string]any{
		"group": GatewayKind.Group, "kind": "Gateway", "namespace": namespace, "name": "", "sectionName": "",
	} {
		if or(a[field], missing) != or(b[field], missing) {
			return false
		}
	}
	return true
}

func or(value, missing any) any {
	if value == nil {
		return missing
	}
	return value
}
