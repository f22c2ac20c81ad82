package aggregate

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/watch"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// tables prints objects as rows for kubectl.
type tables struct{}

// printer has the columns of a kind and the cells of an object, without the column CLUSTER.
type printer struct {
	columns []metav1.TableColumnDefinition
	cells   func(object []byte) ([]any, error)
}

func column(name string, priority int32) metav1.TableColumnDefinition {
	format := ""
	if name == "Name" {
		format = "name"
	}
	return metav1.TableColumnDefinition{Name: name, Type: "string", Format: format, Priority: priority}
}

func printerOf(kind *registered) printer {
	if p, ok := printers[kind.kind.Resource.GroupVersion().String()+"/"+kind.kind.Kind]; ok {
		return p
	}
	if kind.printer != nil {
		return *kind.printer
	}
	if kind.hasProtobuf() { // a built-in kind
		return createdPrinter
	}
	return printer{
		[]metav1.TableColumnDefinition{column("Name", 0), column("Age", 0)},
		func(object []byte) ([]any, error) {
			var o metav1.PartialObjectMetadata
			err := json.Unmarshal(object, &o)
			return []any{o.Name, age(o.CreationTimestamp)}, err
		},
	}
}

// age is the time since a timestamp as kubectl prints it.
func age(t metav1.Time) string {
	if t.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

func (p printer) table(version string) *metav1.Table {
	return &metav1.Table{
		TypeMeta:          metav1.TypeMeta{Kind: "Table", APIVersion: "meta.k8s.io/v1"},
		ListMeta:          metav1.ListMeta{ResourceVersion: version},
		ColumnDefinitions: append(p.columns[:len(p.columns):len(p.columns)], column("Cluster", 0)),
		Rows:              []metav1.TableRow{},
	}
}

// rows prints objects. It is for one goroutine.
type rows struct {
	printer
	include string
	buffer  []byte
}

// append appends the JSON of a TableRow. The text of the object is not parsed again.
func (r *rows) append(to []byte, o cache.Object) ([]byte, error) {
	r.buffer = o.AppendUnmanagedJSON(r.buffer[:0])
	cells, err := r.cells(r.buffer)
	if err != nil {
		return nil, fmt.Errorf("printing %s/%s of cluster %s: %w", o.Namespace(), o.Name(), o.Cluster(), err)
	}
	text, err := json.Marshal(append(cells, o.Cluster()))
	if err != nil {
		return nil, err
	}
	to = append(append(append(to, `{"cells":`...), text...), `,"object":`...)
	switch r.include {
	case string(metav1.IncludeNone):
		to = append(to, "null"...)
	case string(metav1.IncludeObject):
		to = o.AppendJSON(to)
	default:
		to = o.AppendPartialJSON(to)
	}
	return append(to, '}'), nil
}

// appendEnd appends the row of the bookmark that ends the initial events, as kube-apiserver does: its object has the
// annotation, and its cells are those of an object without content.
func (r *rows) appendEnd(to []byte, e cache.Event) ([]byte, error) {
	var end struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(e.AppendPartialJSON(nil), &end); err != nil {
		return nil, err
	}
	cells := make([]any, len(r.columns)+1) // and the cluster
	for i := range cells {
		cells[i] = ""
	}
	text, err := json.Marshal(metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Raw: end.Object}})
	return append(to, text...), err
}

// rowsEnd ends the JSON of a Table, whose last field are the rows.
const rowsEnd = "]}"

// head returns the JSON of a Table up to its first row.
func head(table *metav1.Table) ([]byte, error) {
	text, err := json.Marshal(table)
	return text[:max(len(text)-len(rowsEnd), 0)], err
}

func (tables) object(c call, kind *registered, o cache.Object) ([]byte, error) {
	r := rows{printer: printerOf(kind), include: c.URL.Query().Get("includeObject")}
	text, err := head(r.table(o.ResourceVersion()))
	if err != nil {
		return nil, err
	}
	text, err = r.append(text, o)
	return append(text, rowsEnd...), err
}

// list writes rows one after the other, so that a list needs no memory for all.
func (tables) list(to io.Writer, c call, kind *registered, l *cache.List) error {
	r := rows{printer: printerOf(kind), include: c.URL.Query().Get("includeObject")}
	table := r.table(l.ResourceVersion)
	table.Continue, table.RemainingItemCount = l.Continue, l.Remaining
	text, err := head(table)
	if err != nil {
		return err
	}
	comma := false
	for o := range l.All() {
		if comma {
			text = append(text, ',')
		}
		comma = true
		if text, err = r.append(text, o); err != nil {
			return err
		}
		if _, err := to.Write(text); err != nil {
			return err
		}
		text = text[:0]
	}
	_, err = to.Write(append(text, rowsEnd+"\n"...))
	return err
}

// encoder returns an event as a line, which is valid until the next call and must not be changed.
type encoder func(cache.Event) ([]byte, error)

// events returns how events are encoded. The first Table of a watch has the column definitions.
func (tables) events(c call, kind *registered, form form) encoder {
	var buffer []byte
	switch form {
	case formPartial:
		return func(e cache.Event) ([]byte, error) {
			buffer = e.AppendPartialJSON(buffer[:0])
			return buffer, nil
		}
	case formFull:
		return func(e cache.Event) ([]byte, error) {
			if text, ok := e.SharedJSON(); ok {
				return text, nil
			}
			buffer = e.AppendJSON(buffer[:0])
			return buffer, nil
		}
	}
	r := rows{printer: printerOf(kind), include: c.URL.Query().Get("includeObject")}
	first := true
	return func(e cache.Event) ([]byte, error) {
		if e.Type == watch.Error {
			return e.AppendJSON(nil), nil
		}
		table := r.table(e.ResourceVersion)
		if e.Type != watch.Bookmark {
			table.ResourceVersion = e.Object.ResourceVersion()
		}
		if !first {
			table.ColumnDefinitions = nil
		}
		first = false
		text, err := head(table)
		if err != nil {
			return nil, err
		}
		buffer = append(append(append(buffer[:0], `{"type":"`...), e.Type...), `","object":`...)
		buffer = append(buffer, text...)
		switch {
		case e.InitialEventsEnd:
			if buffer, err = r.appendEnd(buffer, e); err != nil {
				return nil, err
			}
		case e.Type != watch.Bookmark:
			if buffer, err = r.append(buffer, e.Object); err != nil {
				return nil, err
			}
		}
		buffer = append(buffer, rowsEnd+"}\n"...)
		return buffer, nil
	}
}
