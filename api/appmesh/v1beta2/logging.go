package v1beta2

// Logging says where proxies write their access log.
type Logging struct {
	// AccessLog of a VirtualNode or VirtualGateway.
	// +optional
	AccessLog *AccessLog `json:"accessLog,omitempty"`
}

// AccessLog has one sink: a file.
type AccessLog struct {
	// File that lines are appended to.
	// +optional
	File *FileAccessLog `json:"file,omitempty"`
}

// FileAccessLog is a file in the sidecar and the form of its lines.
type FileAccessLog struct {
	// Path of the file, 1 to 255 characters; /dev/stdout is usual.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Path string `json:"path"`
	// Format of a line; absent means the text format of the proxy.
	// +optional
	Format *LoggingFormat `json:"format,omitempty"`
}

// LoggingFormat is json or text, one of the two.
type LoggingFormat struct {
	// JSON lists the members of the object written for each request.
	// +optional
	JSON []JSONFormatEntry `json:"json,omitempty"`
	// Text is the line, newline included.
	// +optional
	Text *string `json:"text,omitempty"`
}

// JSONFormatEntry is one member of a JSON log line.
type JSONFormatEntry struct {
	// Key of the member.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
	// Value of the member, with the proxy's command operators.
	// +kubebuilder:validation:MinLength=1
	Value string `json:"value"`
}
