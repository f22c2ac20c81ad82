package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ComponentParameter is a parameter of a component.
type ComponentParameter struct {
	// Name is the name of the parameter.
	Name string `json:"name"`
	// FieldPaths are the fields of the workload that get the value, for example spec.replicas.
	FieldPaths []string `json:"fieldPaths"`
	// Required means that there must be a value.
	// +optional
	Required *bool `json:"required,omitempty"`
	// Description is for people.
	// +optional
	Description *string `json:"description,omitempty"`
}

// ComponentSpec is the desired state of a Component.
type ComponentSpec struct {
	// Workload is the object that each ApplicationConfiguration with this component creates.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Workload runtime.RawExtension `json:"workload"`
	// Parameters are fields of the workload that an ApplicationConfiguration sets.
	// +optional
	Parameters []ComponentParameter `json:"parameters,omitempty"`
}

// Revision is a revision of a Component.
type Revision struct {
	// Name is the name of the revision.
	Name string `json:"name"`
	// Revision is its number.
	Revision int64 `json:"revision"`
}

// ComponentStatus is the observed state of a Component.
type ComponentStatus struct {
	ConditionedStatus `json:",inline"`
	// ObservedGeneration is the generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// LatestRevision is for other programs. Revisions are not made.
	// +optional
	LatestRevision *Revision `json:"latestRevision,omitempty"`
}

// Component is a workload that ApplicationConfigurations create.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
// +kubebuilder:printcolumn:JSONPath=".spec.workload.kind",name=WORKLOAD-KIND,type=string
// +kubebuilder:printcolumn:name="age",type="date",JSONPath=".metadata.creationTimestamp"
type Component struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ComponentSpec `json:"spec,omitempty"`
	// +optional
	Status ComponentStatus `json:"status,omitempty"`
}

// ComponentList is a list of Components.
// +kubebuilder:object:root=true
type ComponentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Component `json:"items"`
}

// ComponentParameterValue is the value of a parameter.
type ComponentParameterValue struct {
	// Name is the name of the parameter.
	Name string `json:"name"`
	// Value is its value.
	Value intstr.IntOrString `json:"value"`
}

// ComponentTrait is a trait of a component.
type ComponentTrait struct {
	// Trait is the object to create.
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Trait runtime.RawExtension `json:"trait"`
	// DataOutputs are not implemented: the condition Synced says so.
	// +optional
	DataOutputs []Opaque `json:"dataOutputs,omitempty"`
	// DataInputs are not implemented: the condition Synced says so.
	// +optional
	DataInputs []Opaque `json:"dataInputs,omitempty"`
}

// Opaque is an object whose fields are kept.
// +kubebuilder:pruning:PreserveUnknownFields
type Opaque struct {
	runtime.RawExtension `json:",inline"`
}

// ComponentScope is a scope of a component.
type ComponentScope struct {
	// ScopeReference is the scope.
	ScopeReference TypedReference `json:"scopeRef"`
}

// ApplicationConfigurationComponent is a component of an application.
type ApplicationConfigurationComponent struct {
	// ComponentName is the name of a Component.
	// +optional
	ComponentName string `json:"componentName,omitempty"`
	// RevisionName is not implemented: the condition Synced says so.
	// +optional
	RevisionName string `json:"revisionName,omitempty"`
	// DataOutputs are not implemented: the condition Synced says so.
	// +optional
	DataOutputs []Opaque `json:"dataOutputs,omitempty"`
	// DataInputs are not implemented: the condition Synced says so.
	// +optional
	DataInputs []Opaque `json:"dataInputs,omitempty"`
	// ParameterValues are the values of the component's parameters.
	// +optional
	ParameterValues []ComponentParameterValue `json:"parameterValues,omitempty"`
	// Traits are the traits of the component.
	// +optional
	Traits []ComponentTrait `json:"traits,omitempty"`
	// Scopes are not implemented: the condition Synced says so.
	// +optional
	Scopes []ComponentScope `json:"scopes,omitempty"`
}

// ApplicationConfigurationSpec is the desired state of an ApplicationConfiguration.
type ApplicationConfigurationSpec struct {
	// Components are the components of the application.
	Components []ApplicationConfigurationComponent `json:"components"`
}

// WorkloadTrait is a trait of a workload.
type WorkloadTrait struct {
	// Status is for other programs.
	// +optional
	Status string `json:"status,omitempty"`
	// Reference is the trait.
	Reference TypedReference `json:"traitRef"`
}

// WorkloadStatus is a workload of an application.
type WorkloadStatus struct {
	// Status is for other programs.
	// +optional
	Status string `json:"status,omitempty"`
	// ComponentName is the component of the workload.
	// +optional
	ComponentName string `json:"componentName,omitempty"`
	// ComponentRevisionName is for other programs.
	// +optional
	ComponentRevisionName string `json:"componentRevisionName,omitempty"`
	// Reference is the workload.
	// +optional
	Reference TypedReference `json:"workloadRef,omitempty"`
	// Traits are the traits of the workload.
	// +optional
	Traits []WorkloadTrait `json:"traits,omitempty"`
}

// ApplicationConfigurationStatus is the observed state of an ApplicationConfiguration.
type ApplicationConfigurationStatus struct {
	ConditionedStatus `json:",inline"`
	// Status is for other programs.
	// +optional
	Status string `json:"status,omitempty"`
	// Workloads are the workloads with their traits.
	// +optional
	Workloads []WorkloadStatus `json:"workloads,omitempty"`
	// ObservedGeneration is the generation that the status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// ApplicationConfiguration is an application: components with their traits.
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=appconfig,categories={oam}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type ApplicationConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec ApplicationConfigurationSpec `json:"spec,omitempty"`
	// +optional
	Status ApplicationConfigurationStatus `json:"status,omitempty"`
}

// ApplicationConfigurationList is a list of ApplicationConfigurations.
// +kubebuilder:object:root=true
type ApplicationConfigurationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ApplicationConfiguration `json:"items"`
}
