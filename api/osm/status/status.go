// Package status has the status that Anymesh writes into objects of SMI and of Open Service Mesh, which had none.
//
// In: nothing. Out: a Go type. It sets no defaults.
// +kubebuilder:object:generate=true
package status

//go:generate go tool -modfile=../../../tools/go.mod controller-gen object paths=.

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Served is the type of the condition: the object has the effect that it asks for.
const Served = "Served"

// Status is the observed state of an object.
type Status struct {
	// ObservedGeneration is the generation of the object that the conditions are about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions has the condition Served. Its reason is the code of the worst finding, or Served.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
