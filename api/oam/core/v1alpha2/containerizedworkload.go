package v1alpha2

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ContainerizedWorkloadSpec is the desired state of a ContainerizedWorkload.
type ContainerizedWorkloadSpec struct {
	// OperatingSystem is the operating system of the nodes.
	// +kubebuilder:validation:Enum=linux;windows
	// +optional
	OperatingSystem *string `json:"osType,omitempty"`
	// CPUArchitecture is the architecture of the nodes.
	// +kubebuilder:validation:Enum=i386;amd64;arm;arm64
	// +optional
	CPUArchitecture *string `json:"arch,omitempty"`
	// Containers are the containers.
	Containers []Container `json:"containers"`
}

// ContainerizedWorkloadStatus is the observed state of a ContainerizedWorkload.
type ContainerizedWorkloadStatus struct {
	ConditionedStatus `json:",inline"`
	// Resources are the objects of the workload.
	// +optional
	Resources []TypedReference `json:"resources,omitempty"`
}

// ContainerizedWorkload is a workload with containers. It is run by a Deployment with a Service.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
type ContainerizedWorkload struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ContainerizedWorkloadSpec `json:"spec,omitempty"`
	// +optional
	Status ContainerizedWorkloadStatus `json:"status,omitempty"`
}

// ContainerizedWorkloadList is a list of ContainerizedWorkloads.
// +kubebuilder:object:root=true
type ContainerizedWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ContainerizedWorkload `json:"items"`
}
