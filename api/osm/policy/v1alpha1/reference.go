package v1alpha1

// Reference names an object, whose kind it has.
type Reference struct {
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object.
	Name string `json:"name"`
	// Namespace is the namespace of the object.
	Namespace string `json:"namespace"`
}

// Port is a port with its protocol.
type Port struct {
	// Number is the number of the port.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Number int32 `json:"number"`
	// Protocol is the protocol on the port.
	Protocol string `json:"protocol"`
}

// LocalReference names an object of the namespace.
type LocalReference struct {
	// APIGroup is the group of the kind, with or without a version.
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`
	// Kind is the kind of the object.
	Kind string `json:"kind"`
	// Name is the name of the object.
	Name string `json:"name"`
}

// PolicyStatus says whether an object has effect.
type PolicyStatus struct {
	// CurrentStatus is committed or error.
	// +optional
	CurrentStatus string `json:"currentStatus,omitempty"`
	// Reason is the reason of the status.
	// +optional
	Reason string `json:"reason,omitempty"`
}
