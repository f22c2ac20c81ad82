package controller

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// Planner plans the objects of a kind of owners, such as Routes.
type Planner interface {
	// Kind is the kind of the owners.
	Kind() schema.GroupVersionKind
	// Reads are the kinds that most plans read. Their informers start together.
	Reads() []schema.GroupVersionKind
	// Plan plans the objects of an owner. It is a pure function: it changes neither the owner nor what it reads.
	Plan(owner *unstructured.Unstructured, r discovery.Reader) Plan
}

// Plan is what an owner needs.
type Plan struct {
	// Objects have to exist, in the namespace of the owner. They get an owner reference.
	Objects []*unstructured.Unstructured
	// Prunes are the kinds whose objects are deleted if the owner controls them and Objects does not have them.
	Prunes []schema.GroupVersionKind
	// Do does what is not an object to apply, before the objects are written, and reports whether it wrote something
	// whose event evaluates the owner again. It is nil if there is nothing to do.
	Do func(ctx context.Context, owner metav1.OwnerReference) (wrote bool, err error)
	// Due is when the owner has to be evaluated again though nothing changed. It may be zero.
	Due time.Time
	// Status returns the status of the owner, when the objects are written.
	Status func(Outcome) Status
}

// Status is the status of an owner.
type Status struct {
	// Fields are the fields of the status besides its conditions.
	Fields map[string]any
	// Conditions are without LastTransitionTime and ObservedGeneration.
	Conditions []core.Condition
}

// Outcome is what came of the objects of a plan.
type Outcome struct {
	// Forbidden is why a kind cannot be read: then nothing is written. It is nil if all kinds can.
	Forbidden *provider.Reason
	// Problem is the first reason why an object is not written, or nil.
	Problem *provider.Reason
	// UIDs are the UIDs of the objects that exist.
	UIDs map[ObjectKey]types.UID
}

// ObjectKey identifies an object.
type ObjectKey struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// KeyOf returns the key of an object.
func KeyOf(o *unstructured.Unstructured) ObjectKey {
	return ObjectKey{o.GroupVersionKind(), o.GetNamespace(), o.GetName()}
}
