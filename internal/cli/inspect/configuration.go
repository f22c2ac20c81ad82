package inspect

import (
	"bytes"
	"encoding/json"
	"io"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Style colors text for a terminal.
type Style = interface {
	Bold(string) string
	Cyan(string) string
	Dim(string) string
	Red(string) string
	Yellow(string) string
}

// Outliner is a driver that summarizes the configuration of its sidecars. The configuration of other drivers is shown
// as JSON.
type Outliner interface {
	// Dump encodes resources as JSON, in the format of the debug server.
	Dump(resources []sidecar.Resource) (json.RawMessage, error)
	// Outline writes a summary of a dump.
	Outline(w io.Writer, s Style, dump []byte) error
}

// Dump encodes the resources of a driver as JSON.
func Dump(r sidecar.Renderer, resources []sidecar.Resource) (json.RawMessage, error) {
	if o, ok := r.(Outliner); ok {
		return o.Dump(resources)
	}
	return json.Marshal(append([]sidecar.Resource{}, resources...)) // never JSON null
}

// Outline writes a summary of a dump and of the host names that agents answer, or all as JSON if the driver has no
// Outliner.
func Outline(w io.Writer, s terminal.Style, r sidecar.Renderer, dump []byte, hosts []model.Host) error {
	if o, ok := r.(Outliner); ok {
		if err := o.Outline(w, s, dump); err != nil {
			return err
		}
		return Names(w, s, hosts)
	}
	dump, err := WithNames(dump, hosts)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err = json.Indent(&out, dump, "", "  "); err != nil {
		return err
	}
	out.WriteString("\n")
	_, err = out.WriteTo(w)
	return err
}
