package v1beta2

// Logging configures the access log of proxies.
type Logging struct {
	// AccessLog is the access log of a VirtualNode or VirtualGateway.
	// +optional
	AccessLog *AccessLog `json:"accessLog,omitempty"`
}

// AccessLog is written to a file.
type AccessLog struct {
	// File is the file to append to.
	// +optional
	File *FileAccessLog `json:"file,omitempty"`
}

// FileAccessLog is an access log file in the sidecar.
type FileAccessLog struct {
	// Path of the file, 1 to 255 characters, usually /dev/stdout.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Path string `json:"path"`
	// Format of a log entry. The default is the text format of the proxy.
	// +optional
	Format *LoggingFormat `json:"format,omitempty"`
}

// LoggingFormat is the format of a log entry: either json or text.
type LoggingFormat struct {
	// JSON lists the fields of a JSON log entry.
	// +optional
	JSON []JSONFormatEntry `json:"json,omitempty"`
	// Text is the format string of a log entry, including the newline.
	// +optional
	Text *string `json:"text,omitempty"`
}

// JSONFormatEntry is a field of a JSON log entry.
type JSONFormatEntry struct {
	// Key of the field.
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
	// Value of the field, with command operators of the proxy.
	// +kubebuilder:validation:MinLength=1
	Value string `json:"value"`
}
