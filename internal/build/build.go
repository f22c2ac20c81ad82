// Package build tells what a program was built from. In: what the compiler stored in the program. Out: version, commit
// and platform, for commands and for the debug server.
package build

import (
	"runtime"
	"runtime/debug"

	"anymesh.dev/anymesh/charts"
)

// Version is the version of the chart, the images and the program, which are released together.
var Version = charts.Version()

// DocsURL is the address of the pages of the folder docs.
const DocsURL = "https://anymesh.dev/docs/"

// Path is the path of the debug server that serves an Info.
const Path = "/debug/version"

// Info describes a program.
type Info struct {
	// Version is that of the release.
	Version string `json:"version"`
	// Commit is the hash of the commit; empty if the program was not built from a checkout.
	Commit string `json:"commit,omitempty"`
	// Modified reports whether the checkout had changes that were not committed.
	Modified bool `json:"modified,omitempty"`
	// Go is the version of the compiler, and Platform is OS/ARCHITECTURE.
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Read returns the description of this program.
func Read() Info {
	i := Info{Version: Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	stored, ok := debug.ReadBuildInfo()
	if !ok {
		return i
	}
	for _, s := range stored.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// ShortCommit is the commit in 12 characters, with "+" if the checkout was modified, or "-" if it is unknown.
func (i Info) ShortCommit() string {
	if i.Commit == "" {
		return "-"
	}
	short := i.Commit[:min(12, len(i.Commit))]
	if i.Modified {
		short += "+"
	}
	return short
}
