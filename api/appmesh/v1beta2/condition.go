package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is one observation about an object; its type is one of the ...Active constants.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is one word for machines: why the status is what it is.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message says the same to people, naming the field at fault.
	// +optional
	Message string `json:"message,omitempty"`
}
