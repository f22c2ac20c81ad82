// Package discovery finds the Services that the rules of a Route lead to.
//
// In: a Route, and a snapshot of its workload, of the objects that the workload owns, and of OAM's definitions. Out:
// for each rule a Service and its port, and the Service that has to be created, or the reason why there is none. It is
// a pure function.
package discovery

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/api/ingress"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// The kinds that discovery reads besides workloads.
var (
	ServiceKind = corev1.SchemeGroupVersion.WithKind("Service")
	PodKind     = corev1.SchemeGroupVersion.WithKind("Pod")
)

// Reader reads the objects of the cluster, as a snapshot. The objects must not be changed.
type Reader interface {
	provider.Reader
	// Owned returns the objects of a kind in a namespace with an owner reference to a UID, ordered by name.
	Owned(kind schema.GroupVersionKind, namespace string, owner types.UID) []*unstructured.Unstructured
	// Selects reports whether a selector matches an object of a kind in a namespace.
	Selects(kind schema.GroupVersionKind, namespace string, selector map[string]string) bool
	// Resource returns the plural name of a kind, or "" if the cluster does not have it.
	Resource(kind schema.GroupVersionKind) string
}

// Result is what discovery finds.
type Result struct {
	// Backends are the backends of the rules, in their order. A Route without rules has one.
	Backends []provider.Backend
	// Found says how each backend was found, in the same order.
	Found []Found
	// Service has to be created, unless it is nil.
	Service *unstructured.Unstructured
	// Uses is the name of the Service of the first discovered backend, or "".
	Uses string
	// Failure is why there are no backends, or nil.
	Failure *provider.Reason
	// Waiting is why the backends cannot serve requests yet, or nil.
	Waiting *provider.Reason
}

// Found says how the backend of a rule was found.
type Found struct {
	// Step is the step of discovery: 1 for a Service that the workload owns, 2.1 for the PodTemplate of the workload, 2.2
	// for that of an object that it owns. It is empty for a Service that the rule names.
	Step string `json:"step,omitempty"`
	// Text names the object that was found, for people.
	Text string `json:"text"`
	// Created is set if the Service is that of the Route.
	Created bool `json:"created,omitempty"`
}

// The steps of discovery.
const (
	stepService  = "1"
	stepWorkload = "2.1"
	stepChildren = "2.2"
)

// Options configure discovery.
type Options struct {
	// DefinitionNamespaces are searched for definitions after the namespace of the Route.
	DefinitionNamespaces []string
}

// Discover finds the backends of the rules of a Route.
func Discover(route *standard.Route, r Reader, o Options) Result {
	s := &search{Reader: r, route: route, options: o}
	rules := route.Spec.Rules
	if len(rules) == 0 {
		rules = []standard.Rule{{}}
	}
	result := Result{}
	var created []provider.Backend
	for i, rule := range rules {
		field := fmt.Sprintf("spec.rules[%d].backend.backendService", i)
		var ref standard.BackendServiceRef
		if rule.Backend != nil && rule.Backend.BackendService != nil {
			ref = *rule.Backend.BackendService
		}
		var b provider.Backend
		found := Found{Text: "named by the rule"}
		var failure *provider.Reason
		if ref.ServiceName != "" {
			b, failure = s.named(ref, field, &result)
		} else {
			b, found, failure = s.discovered(ref.Port, field)
			if result.Uses == "" {
				result.Uses = b.Service
			}
		}
		if failure != nil {
			return Result{Failure: failure}
		}
		if found.Created {
			created = append(created, b)
		}
		result.Backends, result.Found = append(result.Backends, b), append(result.Found, found)
	}
	if len(created) > 0 {
		result.Service = s.service(created)
		if failure := s.taken(); failure != nil {
			return Result{Failure: failure}
		}
		if t, _ := s.template(); !s.Selects(PodKind, route.Namespace, t.labels) {
			result.Waiting = &provider.Reason{Reason: "NoPods", Message: fmt.Sprintf("no pod in namespace %s has the labels %s, "+
				"which Service %s selects (from %s); start a pod, or correct the labels", route.Namespace,
				labelText(t.labels), route.Name, t.source)}
		}
	}
	return result
}

// named returns the backend of a rule that names its Service.
func (s *search) named(ref standard.BackendServiceRef, field string, result *Result) (provider.Backend,
	*provider.Reason) {
	want := wanted(ref.Port)
	b := provider.Backend{Service: ref.ServiceName, Port: want.number}
	service := s.Get(ServiceKind, s.route.Namespace, ref.ServiceName)
	if service == nil {
		reason := &provider.Reason{Reason: "ServiceNotFound", Message: fmt.Sprintf("%s.serviceName: Service %s does not "+
			"exist in namespace %s; create it, or correct the name", field, ref.ServiceName, s.route.Namespace)}
		if want.number == 0 {
			return b, reason // a name, or the first port
		}
		result.Waiting = reason
		return b, nil
	}
	if externalName(service) {
		return b, &provider.Reason{Reason: "ExternalName", Message: fmt.Sprintf("%s.serviceName: %s; name a Service of pods",
			field, ingress.ExternalNameFault(ref.ServiceName))}
	}
	ports := servicePorts(service)
	for _, p := range ports {
		if p.protocol == tcp && (want.unset() || p.number == want.number || want.name != "" && p.name == want.name) {
			b.Port = p.number
			return b, nil
		}
	}
	return b, &provider.Reason{Reason: "PortNotFound", Message: fmt.Sprintf("%s.port: Service %s has no TCP port %s; "+
		"its ports are %s", field, ref.ServiceName, want, portList(ports))}
}

// discovered returns the backend of a rule whose Service is discovered, and how it was found.
func (s *search) discovered(port portValue, field string) (provider.Backend, Found, *provider.Reason) {
	if failure := s.load(); failure != nil {
		return provider.Backend{}, Found{}, failure
	}
	want := wanted(port)
	template, noTemplate := s.template()
	for _, o := range s.services() {
		for _, p := range servicePorts(o.service) {
			if p.protocol == tcp && p.leadsTo(want, template.ports) {
				return provider.Backend{Service: o.service.GetName(), Port: p.number}, o.found(), nil
			}
		}
	}
	ofRoute := Found{template.step, template.source, true}
	for _, p := range template.ports {
		if p.protocol == tcp && p.is(want) {
			return provider.Backend{Service: s.route.Name, Port: p.number}, ofRoute, nil
		}
	}
	for _, o := range s.services() { // the port may be that of the Service
		for _, p := range servicePorts(o.service) {
			if p.protocol == tcp && p.is(want) {
				return provider.Backend{Service: o.service.GetName(), Port: p.number}, o.found(), nil
			}
		}
	}
	if want.number != 0 && len(template.labels) > 0 { // containers need not declare their ports
		return provider.Backend{Service: s.route.Name, Port: want.number}, ofRoute, nil
	}
	if len(template.ports) == 0 {
		return provider.Backend{}, Found{}, noTemplate
	}
	return provider.Backend{}, Found{}, &provider.Reason{Reason: "PortNotFound", Message: fmt.Sprintf("%s.port: %s has "+
		"no TCP port %s; its ports are %s", field, template.source, want, portList(template.ports))}
}
