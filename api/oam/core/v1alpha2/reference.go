package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TypedReference refers to an object in the namespace of the referrer.
type TypedReference struct {
	// APIVersion is the API group and version of the object.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object.
	Name string `json:"name"`
	// UID is the UID of the object. It is information: an object that is created again with the same name is meant,
	// too.
	// +optional
	UID string `json:"uid,omitempty"`
}

// Condition is a condition of an object.
type Condition struct {
	// Type is the type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status metav1.ConditionStatus `json:"status"`
	// ObservedGeneration is the generation of the object that the condition is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LastTransitionTime is the time of the last change of status.
	LastTransitionTime metav1.Time `json:"lastTransitionTime"`
	// Reason is a word in CamelCase.
	Reason string `json:"reason"`
	// Message says what the object waits for, or what is wrong, and what to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// ConditionedStatus is the part of a status with conditions.
type ConditionedStatus struct {
	// Conditions are the conditions of the object, by type.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []Condition `json:"conditions,omitempty"`
}
