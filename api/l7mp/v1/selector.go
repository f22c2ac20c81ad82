package v1

// Selector selects pods. A pod must meet all conditions; without any, every pod is selected.
type Selector struct {
	// MatchLabels are labels with their values.
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
	// MatchExpressions are conditions on labels.
	// +optional
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
	// MatchFields are conditions on fields of the pod.
	// +optional
	MatchFields []LabelRequirement `json:"matchFields,omitempty"`
	// MatchNamespace is the namespace of the pods. Empty means that of the object.
	// +optional
	MatchNamespace string `json:"matchNamespace,omitempty"`
	// MatchService is the name of a Service that selects the pods.
	// +optional
	MatchService string `json:"matchService,omitempty"`
}

// LabelRequirement is a condition on a label, or on a field of the pod.
type LabelRequirement struct {
	// Key is the label, or the path of the field with dots.
	Key string `json:"key"`
	// Operator is In, NotIn, Exists or DoesNotExist. DoesNotexist is the spelling of the released schema.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;DoesNotexist;Gt;Lt
	Operator string `json:"operator"`
	// Values are for In and NotIn.
	// +optional
	Values []string `json:"values,omitempty"`
}
