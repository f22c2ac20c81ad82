package discovery

import (
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/provider"
)

const (
	// typeLabel on a workload is the name of its definition.
	typeLabel = "workload.oam.dev/type"
	// podspecableLabel on a definition says that workloads have a PodTemplate at spec.template.
	podspecableLabel = "workload.oam.dev/podspecable"
)

// definitionVersions are the versions of WorkloadDefinition, which differ in nothing that is read here.
var definitionVersions = []string{core.GroupVersion.Version, "v1beta1"}

// childKinds are the kinds of objects that a workload can own, in the order in which they are searched.
var childKinds = []schema.GroupVersionKind{
	appsv1.SchemeGroupVersion.WithKind("Deployment"),
	appsv1.SchemeGroupVersion.WithKind("StatefulSet"),
	appsv1.SchemeGroupVersion.WithKind("DaemonSet"),
	batchv1.SchemeGroupVersion.WithKind("Job"),
	appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
}

// maxDepth bounds the owners between an object and its workload.
const maxDepth = 5

// search is a search for the backends of one Route.
type search struct {
	Reader
	route   *standard.Route
	options Options

	loaded     bool
	failure    *provider.Reason
	workload   *unstructured.Unstructured
	definition *unstructured.Unstructured // nil if there is none
	children   []*unstructured.Unstructured
	found      *podTemplate
	notFound   *provider.Reason
}

// load reads the workload, its definition and the objects that it owns.
func (s *search) load() *provider.Reason {
	if !s.loaded {
		s.loaded = true
		s.failure = s.loadWorkload()
		if s.failure == nil {
			s.failure = s.loadDefinition()
		}
		if s.failure == nil {
			s.loadChildren()
		}
	}
	return s.failure
}

func (s *search) loadWorkload() *provider.Reason {
	ref := s.route.Spec.WorkloadReference
	if ref.APIVersion == "" || ref.Kind == "" || ref.Name == "" {
		return &provider.Reason{Reason: "NoWorkloadReference", Message: "spec.workloadRef: no workload reference; set " +
			"apiVersion, kind and name, or serviceName in the backendService of each rule"}
	}
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return &provider.Reason{Reason: "InvalidWorkloadReference", Message: fmt.Sprintf("spec.workloadRef.apiVersion: %v; "+
			"use GROUP/VERSION", err)}
	}
	kind := version.WithKind(ref.Kind)
	if !s.Has(kind) {
		return &provider.Reason{Reason: "KindNotFound", Message: fmt.Sprintf("failed to locate the workload: "+
			"spec.workloadRef: the cluster has no kind %s in %s; install its CustomResourceDefinition, or correct the reference",
			ref.Kind, ref.APIVersion)}
	}
	if s.workload = s.Get(kind, s.route.Namespace, ref.Name); s.workload == nil {
		return &provider.Reason{Reason: "WorkloadNotFound", Message: fmt.Sprintf("failed to locate the workload: "+
			"spec.workloadRef: %s %s does not exist in namespace %s; create it, or correct the reference", ref.Kind, ref.Name,
			s.route.Namespace)}
	}
	return nil
}

// loadDefinition reads the definition of the workload. It is an error that it is missing only if the workload names it.
func (s *search) loadDefinition() *provider.Reason {
	name := s.workload.GetLabels()[typeLabel]
	if name == "" {
		kind := s.workload.GroupVersionKind()
		name = s.Resource(kind)
		if kind.Group != "" {
			name += "." + kind.Group
		}
	}
	if s.definition = FindDefinition(s, "WorkloadDefinition", s.route.Namespace, name, s.options); s.definition != nil ||
		s.workload.GetLabels()[typeLabel] == "" {
		return nil
	}
	return &provider.Reason{Reason: "DefinitionNotFound", Message: fmt.Sprintf("failed to create the services: "+
		"WorkloadDefinition.core.oam.dev %q not found; create it, or remove the label %s of the workload", name, typeLabel)}
}

// FindDefinition returns the WorkloadDefinition or TraitDefinition of a name: that of the namespace, or of the
// namespaces of the options, or of the cluster. It returns nil if there is none.
func FindDefinition(r provider.Reader, kind, namespace, name string, o Options) *unstructured.Unstructured {
	for _, version := range definitionVersions {
		kind := schema.GroupVersionKind{Group: core.GroupVersion.Group, Version: version, Kind: kind}
		if !r.Has(kind) {
			continue
		}
		places := append([]string{namespace}, o.DefinitionNamespaces...)
		places = append(places, "") // the kind was cluster-scoped once
		for i, place := range places {
			if slices.Contains(places[:i], place) {
				continue
			}
			if d := r.Get(kind, place, name); d != nil {
				return d
			}
		}
	}
	return nil
}

// loadChildren finds the objects that the workload owns, directly or not, besides pods and Services.
func (s *search) loadChildren() {
	seen := map[types.UID]bool{s.workload.GetUID(): true}
	level := []*unstructured.Unstructured{s.workload}
	for range maxDepth {
		var next []*unstructured.Unstructured
		for _, owner := range level {
			for _, k := range s.kindsBelow(owner) {
				for _, child := range s.Owned(k.kind, s.route.Namespace, owner.GetUID()) {
					if !seen[child.GetUID()] && k.selector.Matches(labels.Set(child.GetLabels())) {
						seen[child.GetUID()] = true
						next = append(next, child)
					}
				}
			}
		}
		s.children = append(s.children, next...)
		level = next
	}
}

// kindBelow is a kind of objects that an object may own.
type kindBelow struct {
	kind     schema.GroupVersionKind
	selector labels.Selector
}

// kindsBelow returns the kinds of objects that an object may own: those of the definition first.
func (s *search) kindsBelow(owner *unstructured.Unstructured) []kindBelow {
	var out []kindBelow
	add := func(kind schema.GroupVersionKind, selector labels.Selector) {
		known := func(k kindBelow) bool { return k.kind == kind }
		if kind != PodKind && kind != ServiceKind && !slices.ContainsFunc(out, known) {
			out = append(out, kindBelow{kind, selector})
		}
	}
	for _, k := range s.definedKinds() {
		add(k.kind, k.selector)
	}
	switch kind := owner.GroupVersionKind(); {
	case kind.Group == batchv1.GroupName && kind.Kind == "CronJob":
		add(batchv1.SchemeGroupVersion.WithKind("Job"), labels.Everything())
	case isLeaf(kind):
	default:
		for _, k := range childKinds {
			add(k, labels.Everything())
		}
	}
	return out
}

// isLeaf reports whether objects of a kind own only pods, or ReplicaSets with the same template.
func isLeaf(kind schema.GroupVersionKind) bool {
	return kind.Group == "" || slices.ContainsFunc(childKinds, func(k schema.GroupVersionKind) bool {
		return k.GroupKind() == kind.GroupKind()
	})
}

// definedKinds are the kinds of children in the definition, in its order.
func (s *search) definedKinds() []kindBelow {
	if s.definition == nil {
		return nil
	}
	list, _, _ := unstructured.NestedSlice(s.definition.Object, "spec", "childResourceKinds")
	var out []kindBelow
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		apiVersion, _ := m["apiVersion"].(string)
		kind, _ := m["kind"].(string)
		selector, _, _ := unstructured.NestedStringMap(m, "selector")
		out = append(out, kindBelow{schema.FromAPIVersionAndKind(apiVersion, kind), labels.SelectorFromSet(selector)})
	}
	return out
}

// ownedService is a Service with its owner.
type ownedService struct{ service, owner *unstructured.Unstructured }

func (o ownedService) found() Found {
	return Found{Step: stepService, Text: fmt.Sprintf("%s owns it", nameOf(o.owner))}
}

// services returns the Services that the workload and its children own, in the order of their owners.
func (s *search) services() []ownedService {
	selector := labels.Everything()
	for _, k := range s.definedKinds() {
		if k.kind == ServiceKind {
			selector = k.selector
		}
	}
	var out []ownedService
	for _, owner := range append([]*unstructured.Unstructured{s.workload}, s.children...) {
		for _, service := range s.Owned(ServiceKind, s.route.Namespace, owner.GetUID()) {
			if selector.Matches(labels.Set(service.GetLabels())) {
				out = append(out, ownedService{service, owner})
			}
		}
	}
	return out
}

// podspecable reports whether the definition says that the workload has a PodTemplate.
func (s *search) podspecable() bool {
	if s.definition == nil {
		return false
	}
	is, err := strconv.ParseBool(s.definition.GetLabels()[podspecableLabel])
	return err == nil && is
}
