package model

import (
	"path"
	"slices"
	"strings"
)

// AccessLog makes the sidecars of a workload write a line for each request, and for each connection without requests,
// in both directions. A gateway writes one line for each request of its clients.
type AccessLog struct {
	// Path is the absolute name of a file in the sidecar, or LogOutput or LogErrors.
	Path string `json:"path"`
	// Text is the format of an entry, see CheckLogFormat. Nothing is appended to an entry, also no end of line. Fields are
	// the members of a JSON object in a line. Without both, the sidecar has a default format.
	Text   string     `json:"text,omitempty"`
	Fields []LogField `json:"fields,omitempty"`
	Origin Origin     `json:"origin,omitzero"`
}

// LogField is a member of a JSON object. Value is a format as AccessLog.Text. A value that is a single operator has the
// type of its result.
type LogField struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// The standard output and the standard error of sidecars.
const (
	LogOutput = "/dev/stdout"
	LogErrors = "/dev/stderr"
)

// IsFile reports whether the entries go to a file.
func (l *AccessLog) IsFile() bool { return l.Path != LogOutput && l.Path != LogErrors }

// imageFolders are folders of an image. A volume there would hide what the programs in the image need.
var imageFolders = []string{
	"/", "/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/root", "/run", "/sbin", "/sys",
	"/usr", "/var/run",
}

// Folder returns the folder of the file if it can be a volume of its own; otherwise "".
func (l *AccessLog) Folder() string {
	folder := path.Dir(l.Path)
	inImage := func(image string) bool { return image != "/" && strings.HasPrefix(folder, image+"/") }
	if !l.IsFile() || folder == "/var" || slices.Contains(imageFolders, folder) ||
		slices.ContainsFunc(imageFolders, inImage) {
		return ""
	}
	return folder
}

// feature returns the feature of the format.
func (l *AccessLog) feature() Feature {
	switch {
	case len(l.Fields) > 0:
		return "accessLog.json"
	case l.Text != "":
		return "accessLog.text"
	}
	return "accessLog"
}
