package v1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rewrite sets a value in the metadata of a connection.
type Rewrite struct {
	// Path is a JSON pointer into the metadata, for example /labels/id.
	Path string `json:"path"`
	// Value is the new value.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
	// ValueStr is the new value if that is a string.
	// +optional
	ValueStr *string `json:"valueStr,omitempty"`
}

// Action is what happens with a connection that matches.
type Action struct {
	// Rewrite are changes of the metadata, in order.
	// +optional
	Rewrite []Rewrite `json:"rewrite,omitempty"`
	// Route is the name of a Route, or a Route without a name.
	// +optional
	Route *apiextensionsv1.JSON `json:"route,omitempty"`
	// RouteRef is the name of a Route.
	// +optional
	RouteRef string `json:"routeRef,omitempty"`
	// Apply is the name of a list of rules that decides in place of the others.
	// +optional
	Apply string `json:"apply,omitempty"`
}

// Rule is an action for the connections that match.
type Rule struct {
	// Name has no effect.
	// +optional
	Name string `json:"name,omitempty"`
	// Match is a JSON predicate on the metadata of the connection. Without it, or with a string, each one matches.
	// +optional
	Match *apiextensionsv1.JSON `json:"match,omitempty"`
	// Action is what happens.
	Action Action `json:"action"`
}

// ListenerOptions are options of a listener.
type ListenerOptions struct {
	// Track is the number of seconds for which the proxy lists a session after its end.
	// +optional
	Track int32 `json:"track,omitempty"`
	// RemoveOrphanSessions ends the sessions of the listener when the object is deleted.
	// +optional
	RemoveOrphanSessions bool `json:"removeOrphanSessions,omitempty"`
}

// Listener is a socket of a proxy.
type Listener struct {
	// Name has no effect: the name of the object counts.
	// +optional
	Name string `json:"name,omitempty"`
	// Spec has the protocol as its only key, with the parameters of the socket: {"TCP": {"port": 9000}}. The form
	// {"protocol": "TCP", "port": 9000} is accepted, too.
	Spec apiextensionsv1.JSON `json:"spec"`
	// Rules are evaluated in order; the first that matches decides. Without any, the object describes a service without
	// a proxy.
	// +optional
	Rules []Rule `json:"rules,omitempty"`
	// RulesRef is the name of a list of rules.
	// +optional
	RulesRef string `json:"rulesRef,omitempty"`
	// Options are options of the listener.
	// +optional
	Options *ListenerOptions `json:"options,omitempty"`
}

// VirtualServiceSpec is the desired state of a VirtualService.
type VirtualServiceSpec struct {
	// Selector selects the pods.
	// +optional
	Selector *Selector `json:"selector,omitempty"`
	// Listener is the socket on which the pods accept connections.
	Listener Listener `json:"listener"`
	// Rules are in place of listener.rules.
	// +optional
	Rules []Rule `json:"rules,omitempty"`
	// Options are in place of listener.options.
	// +optional
	Options *ListenerOptions `json:"options,omitempty"`
	// UpdateOwners was a setting of the former operator.
	// +optional
	UpdateOwners bool `json:"updateOwners,omitempty"`
}

// VirtualService is a service that listens on a socket of the pods that it selects.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=vsvc,categories=l7mp
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Accepted")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Accepted")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type VirtualService struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec VirtualServiceSpec `json:"spec"`
	// +optional
	Status Status `json:"status,omitempty"`
}

// VirtualServiceList is a list of VirtualService.
// +kubebuilder:object:root=true
type VirtualServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VirtualService `json:"items"`
}
