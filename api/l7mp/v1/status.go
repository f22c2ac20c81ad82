package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Status is the observed state of an object.
type Status struct {
	// Conditions has the condition Accepted: whether the whole object is valid and has effect.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
