package model

// HeaderField is a value in the header that a JSONSocket destination gets before the data.
type HeaderField struct {
	// From is the pointer into the metadata of the session. If it is empty, the value is Value. Metadata that a session
	// does not have is left out.
	From  string `json:"from,omitempty"`
	Value any    `json:"value,omitempty"`
	// To is the pointer into the header; empty means the header itself.
	To string `json:"to,omitempty"`
}

// LocalOptions are the parameters of a destination that the sidecar serves itself.
type LocalOptions struct {
	// Query is the pointer to the metadata that sessions of Sync have in common.
	Query string `json:"query,omitempty"`
	// LogFile is the file of a Logger; empty means standard output. LogPrefix begins its lines.
	LogFile   string `json:"logFile,omitempty"`
	LogPrefix string `json:"logPrefix,omitempty"`
}
