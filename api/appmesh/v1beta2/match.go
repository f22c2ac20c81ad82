package v1beta2

// HeaderMatch is a condition on a header, or on a metadata entry of a gRPC request.
type HeaderMatch struct {
	// Name of the header, 1 to 50 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`
	// Match is the condition on the value. If it is absent, any value matches.
	// +optional
	Match *HeaderMatchMethod `json:"match,omitempty"`
	// Invert negates the condition.
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// HeaderMatchMethod matches a value. Exactly one field is required.
type HeaderMatchMethod struct {
	// Exact is the value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Prefix is a prefix of the value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Range is a range of integers that contains the value.
	// +optional
	Range *MatchRange `json:"range,omitempty"`
	// Regex is a regular expression that matches the whole value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Regex *string `json:"regex,omitempty"`
	// Suffix is a suffix of the value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Suffix *string `json:"suffix,omitempty"`
}

// MatchRange is the half-open range [start, end).
type MatchRange struct {
	// Start is the first number of the range.
	Start int64 `json:"start"`
	// End is the first number after the range.
	End int64 `json:"end"`
}

// QueryParameterMatch is a condition on a query parameter.
type QueryParameterMatch struct {
	// Name of the parameter.
	Name string `json:"name"`
	// Match is the condition on the value. If it is absent, any value matches.
	// +optional
	Match *QueryMatchMethod `json:"match,omitempty"`
}

// QueryMatchMethod matches the value of a query parameter.
type QueryMatchMethod struct {
	// Exact is the value.
	// +optional
	Exact *string `json:"exact,omitempty"`
}

// PathMatch matches a path. Exactly one field is required.
type PathMatch struct {
	// Exact is the path, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Regex is a regular expression that matches the whole path, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Regex *string `json:"regex,omitempty"`
}

// HTTPMethod is a request method.
// +kubebuilder:validation:Enum=CONNECT;DELETE;GET;HEAD;OPTIONS;PATCH;POST;PUT;TRACE
type HTTPMethod string

// HTTPScheme is the scheme of a request.
// +kubebuilder:validation:Enum=http;https
type HTTPScheme string
