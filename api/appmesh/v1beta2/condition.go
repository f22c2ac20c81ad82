package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Condition is an observation about an object. Its type is one of the ...Active constants.
type Condition struct {
	// Type is the type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status corev1.ConditionStatus `json:"status"`
	// LastTransitionTime is the time of the last change of the status.
	// +optional
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// Reason is a machine-readable cause of the status, in one word.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is a human-readable cause of the status. It names the invalid field.
	// +optional
	Message string `json:"message,omitempty"`
}
