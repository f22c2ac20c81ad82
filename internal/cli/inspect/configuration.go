package inspect

import (
	"bytes"
	"encoding/json"
	"io"

	"anymesh.dev/anymesh/sidecar"
)

// Style paints texts for a terminal.
type Style = interface {
	Bold(string) string
	Cyan(string) string
	Dim(string) string
	Red(string) string
	Yellow(string) string
}

// Outliner is a driver that tells the configuration of its sidecars in words. That of others is shown as it is.
type Outliner interface {
	// Dump gives resources as JSON, just as the driver's handler of the debug server does.
	Dump(resources []sidecar.Resource) (json.RawMessage, error)
	// Outline writes in words what Dump gave.
	Outline(w io.Writer, s Style, dump []byte) error
}

// Dump gives resources of a driver as JSON.
func Dump(r sidecar.Renderer, resources []sidecar.Resource) (json.RawMessage, error) {
	if o, ok := r.(Outliner); ok {
		return o.Dump(resources)
	}
	return json.Marshal(append([]sidecar.Resource{}, resources...)) // never null
}

// Outline writes a dump of a driver's resources for people.
func Outline(w io.Writer, s Style, r sidecar.Renderer, dump []byte) error {
	if o, ok := r.(Outliner); ok {
		return o.Outline(w, s, dump)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, dump, "", "  "); err != nil {
		return err
	}
	out.WriteString("\n")
	_, err := out.WriteTo(w)
	return err
}
