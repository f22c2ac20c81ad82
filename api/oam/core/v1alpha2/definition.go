package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DefinitionReference refers to a CustomResourceDefinition.
type DefinitionReference struct {
	// Name is PLURAL.GROUP.
	Name string `json:"name"`
	// Version is the version of the API, if it is not the only one.
	// +optional
	Version string `json:"version,omitempty"`
}

// ChildResourceKind is a kind of objects that a workload owns.
type ChildResourceKind struct {
	// APIVersion is the API group and version.
	APIVersion string `json:"apiVersion"`
	// Kind is the kind.
	Kind string `json:"kind"`
	// Selector has the labels of the objects.
	// +optional
	Selector map[string]string `json:"selector,omitempty"`
}

// WorkloadDefinitionSpec says how to handle a kind of workload.
type WorkloadDefinitionSpec struct {
	// Reference is the kind of the workload.
	Reference DefinitionReference `json:"definitionRef"`
	// ChildResourceKinds are the kinds of the objects that the workload owns, in the order in which they are searched.
	// +optional
	ChildResourceKinds []ChildResourceKind `json:"childResourceKinds,omitempty"`
	// RevisionLabel is the label of a revision, for traits that select one.
	// +optional
	RevisionLabel string `json:"revisionLabel,omitempty"`
	// PodSpecPath is the path of the PodSpec in the workload, for example spec.podSpec.
	// +optional
	PodSpecPath string `json:"podSpecPath,omitempty"`
	// Status is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`
	// Schematic is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Schematic *runtime.RawExtension `json:"schematic,omitempty"`
	// Extension is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// WorkloadDefinition registers a kind of workload. With the label workload.oam.dev/podspecable: "true", the workload
// has a PodTemplate at spec.template.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
// +kubebuilder:printcolumn:JSONPath=".spec.definitionRef.name",name=DEFINITION-NAME,type=string
type WorkloadDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec WorkloadDefinitionSpec `json:"spec,omitempty"`
}

// WorkloadDefinitionList is a list of WorkloadDefinitions.
// +kubebuilder:object:root=true
type WorkloadDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []WorkloadDefinition `json:"items"`
}

// TraitDefinitionSpec says how to handle a kind of trait.
type TraitDefinitionSpec struct {
	// Reference is the kind of the trait.
	Reference DefinitionReference `json:"definitionRef"`
	// RevisionEnabled is for other programs.
	// +optional
	RevisionEnabled bool `json:"revisionEnabled,omitempty"`
	// WorkloadRefPath is the path of the reference to the workload in the trait, for example spec.workloadRef.
	// +optional
	WorkloadRefPath string `json:"workloadRefPath,omitempty"`
	// AppliesToWorkloads are the kinds of workload that may have the trait: names of definitions, PLURAL.GROUP, or
	// *.GROUP. If it is empty, all may.
	// +optional
	AppliesToWorkloads []string `json:"appliesToWorkloads,omitempty"`
	// ConflictsWith are the traits that a workload must not have besides this one.
	// +optional
	ConflictsWith []string `json:"conflictsWith,omitempty"`
	// Status is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Status *runtime.RawExtension `json:"status,omitempty"`
	// Schematic is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Schematic *runtime.RawExtension `json:"schematic,omitempty"`
	// Extension is for other programs.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Extension *runtime.RawExtension `json:"extension,omitempty"`
}

// TraitDefinition registers a kind of trait.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
// +kubebuilder:printcolumn:JSONPath=".spec.definitionRef.name",name=DEFINITION-NAME,type=string
type TraitDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec TraitDefinitionSpec `json:"spec,omitempty"`
}

// TraitDefinitionList is a list of TraitDefinitions.
// +kubebuilder:object:root=true
type TraitDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TraitDefinition `json:"items"`
}
