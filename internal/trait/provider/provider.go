// Package provider is the contract of providers, which make the traffic of a Route's host reach its Services, and the
// list of their names.
//
// In: a Route whose Services are known, and the objects of the cluster that a provider reads. Out: the objects that
// have to exist, the fields that the provider cannot honor, and whether the objects are ready. Providers are pure
// functions, so that equal input gives equal objects.
package provider

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Route is a Route with its defaults, whose Services are known.
type Route struct {
	Namespace, Name string
	// Labels are the labels of the Route.
	Labels map[string]string
	// Host is the host name of each rule. It is neither empty nor local.
	Host string
	// Class is the ingress class or the Gateway, and empty for the default of the provider.
	Class string
	// TLS is nil for plain HTTP.
	TLS *TLS
	// Rules are in the order of the Route. There is at least one.
	Rules []Rule
}

// TLS is the certificate of the host.
type TLS struct {
	// Secret is the name of the Secret with tls.crt and tls.key, in the namespace of the Route. It need not exist yet.
	Secret string
}

// Rule is a rule of a Route.
type Rule struct {
	// Name is unique in the Route, and a DNS label.
	Name string
	// Path begins with "/" and matches whole path elements: "/a" matches "/a" and "/a/b", not "/ab".
	Path string
	// RewriteTarget replaces Path in requests to the backend; empty means that the path is not changed.
	RewriteTarget string
	// Headers are set in requests to the backend. They are sorted by name.
	Headers []Header
	// ReadTimeout is the longest pause between two reads from the backend, and SendTimeout between two writes to it; 0
	// means the default of the provider.
	ReadTimeout, SendTimeout time.Duration
	Backend                  Backend
	// Default is used if the backend has no ready endpoint. It may be nil.
	Default *ObjectRef
	// Field is the path of the rule in the Route, for messages: "spec.rules[0]".
	Field string
}

// Header is a header with its value.
type Header struct{ Name, Value string }

// Backend is a port of a Service in the namespace of the Route.
type Backend struct {
	Service string
	Port    int32
}

// ObjectRef refers to an object in the namespace of the Route.
type ObjectRef struct {
	// Group is empty for the core group.
	Group, Kind, Name string
}

// Unsupported is a field of the Route that the provider cannot honor, or not as the Route says.
type Unsupported struct {
	// Field is the path of the field: "spec.rules[0].defaultBackend".
	Field string
	// Text says what happens instead.
	Text string
}

// Result is what a provider makes of a Route.
type Result struct {
	// Objects are complete but for the owner reference and the resource version, in the namespace of the Route. Their
	// names are unique by kind.
	Objects     []*unstructured.Unstructured
	Unsupported []Unsupported
	// Waiting says what has to change in the cluster before there can be objects, for example a Gateway that does not
	// allow the Route. It is nil if nothing has.
	Waiting *Reason
}

// Reason is why a Route is not ready.
type Reason struct {
	// Reason is a CamelCase word, for conditions.
	Reason string `json:"reason"`
	// Message says what the Route waits for and what to do.
	Message string `json:"message"`
}

// State is the state of the objects of a Route.
type State struct {
	// Waiting is nil if the objects are served.
	Waiting *Reason
	// Addresses are the addresses and host names at which the host is served. They may be unknown.
	Addresses []string
}

// Reader reads the objects of the cluster, as a snapshot. The objects must not be changed.
type Reader interface {
	// List returns the objects of a kind in a namespace, or in all namespaces if it is empty, ordered by namespace and
	// name. It is empty for a kind that the cluster does not have.
	List(kind schema.GroupVersionKind, namespace string) []*unstructured.Unstructured
	// Get returns nil if there is no such object. The namespace of cluster-scoped objects is empty.
	Get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured
	// Has reports whether the cluster has the kind.
	Has(kind schema.GroupVersionKind) bool
}

// Classes is a provider that recognizes its classes, which Routes without provider may name.
type Classes interface {
	// ServesClass reports whether the cluster has a class of this name, and the provider serves it.
	ServesClass(name string, r Reader) bool
}

// Provider is an implementation of ingress.
type Provider interface {
	// Names are the values of spec.provider that mean this provider; the first is its name.
	Names() []string
	// Writes are the kinds of the provider's objects, and Reads the kinds that its functions read besides those.
	Writes() []schema.GroupVersionKind
	Reads() []schema.GroupVersionKind
	// Present reports whether the cluster has this provider.
	Present(Reader) bool
	// Render returns the objects of a Route.
	Render(Route, Reader) Result
	// State returns the state of the objects of a Route, which Reader has as they are in the cluster.
	State(Route, Reader) State
}
