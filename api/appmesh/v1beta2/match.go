package v1beta2

// HeaderMatch is a condition on one header, or on one metadata entry of a gRPC request.
type HeaderMatch struct {
	// Name of the header, 1 to 50 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=50
	Name string `json:"name"`
	// Match of the value; absent means the header must be there.
	// +optional
	Match *HeaderMatchMethod `json:"match,omitempty"`
	// Invert turns the condition around.
	// +optional
	Invert *bool `json:"invert,omitempty"`
}

// HeaderMatchMethod compares a value: exactly one of the members.
type HeaderMatchMethod struct {
	// Exact value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Prefix of the value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Prefix *string `json:"prefix,omitempty"`
	// Range that the value, read as a whole number, lies in.
	// +optional
	Range *MatchRange `json:"range,omitempty"`
	// Regex for the whole value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Regex *string `json:"regex,omitempty"`
	// Suffix of the value, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Suffix *string `json:"suffix,omitempty"`
}

// MatchRange is the half-open range [start, end).
type MatchRange struct {
	// Start is the first number that matches.
	Start int64 `json:"start"`
	// End is the first number after it that does not.
	End int64 `json:"end"`
}

// QueryParameterMatch is a condition on one query parameter.
type QueryParameterMatch struct {
	// Name of the parameter.
	Name string `json:"name"`
	// Match of the value; absent means the parameter must be there.
	// +optional
	Match *QueryMatchMethod `json:"match,omitempty"`
}

// QueryMatchMethod compares the value of a query parameter.
type QueryMatchMethod struct {
	// Exact value.
	// +optional
	Exact *string `json:"exact,omitempty"`
}

// PathMatch compares a path: exactly one of the members.
type PathMatch struct {
	// Exact path, 1 to 255 characters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	// +optional
	Exact *string `json:"exact,omitempty"`
	// Regex for the whole path, 1 to 255 characters.
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
