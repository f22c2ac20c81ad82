package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
)

// PodSpecWorkloadSpec is the desired state of a PodSpecWorkload.
type PodSpecWorkloadSpec struct {
	// Replicas is the number of pods. The default is 1.
	// +kubebuilder:default:=1
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`
	// PodSpec is the PodSpec. The Deployment validates it.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	PodSpec corev1.PodSpec `json:"podSpec"`
}

// PodSpecWorkloadStatus is the observed state of a PodSpecWorkload.
type PodSpecWorkloadStatus struct {
	core.ConditionedStatus `json:",inline"`
	// Resources are the objects of the workload.
	// +optional
	Resources []core.TypedReference `json:"resources,omitempty"`
}

// PodSpecWorkload is a workload with a PodSpec. It is run by a Deployment with a Service, whose ports begin with 8080.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
type PodSpecWorkload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec PodSpecWorkloadSpec `json:"spec,omitempty"`
	// +optional
	Status PodSpecWorkloadStatus `json:"status,omitempty"`
}

// PodSpecWorkloadList is a list of PodSpecWorkloads.
// +kubebuilder:object:root=true
type PodSpecWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []PodSpecWorkload `json:"items"`
}
