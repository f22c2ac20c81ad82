package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RetryPolicy is when and how often requests are retried.
type RetryPolicy struct {
	// RetryOn are the failures that are retried, separated by commas.
	RetryOn string `json:"retryOn"`
	// PerTryTimeout limits each attempt.
	// +optional
	PerTryTimeout *metav1.Duration `json:"perTryTimeout"`
	// NumRetries is the maximum number of retries.
	// +optional
	NumRetries *uint32 `json:"numRetries"`
	// RetryBackoffBaseInterval is the shortest time before a retry.
	// +optional
	RetryBackoffBaseInterval *metav1.Duration `json:"retryBackoffBaseInterval"`
}

// RetrySpec is the desired state of a Retry.
type RetrySpec struct {
	// Source is the ServiceAccount whose requests are retried.
	Source Reference `json:"source"`
	// Destinations are the Services to which they go.
	Destinations []Reference `json:"destinations"`
	// RetryPolicy is when and how often they are retried.
	RetryPolicy RetryPolicy `json:"retryPolicy"`
}

// Retry makes the sidecars of clients retry failed requests.
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=retry,categories=all
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.currentStatus`
type Retry struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   RetrySpec    `json:"spec,omitempty"`
	Status PolicyStatus `json:"status,omitzero"`
}

// RetryList is a list of Retry.
// +kubebuilder:object:root=true
type RetryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Retry `json:"items"`
}
