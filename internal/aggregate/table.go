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

// printers are those of kube-apiserver, by kind. Custom resources have the columns of their definition, other kinds
// Name and Age.
var printers = map[string]printer{"v1/Pod": podPrinter, "v1/Node": nodePrinter}

func printerOf(kind *registered) printer {
	if p, ok := printers[kind.kind.Resource.GroupVersion().String()+"/"+kind.kind.Kind]; ok {
		return p
	}
	if kind.printer != nil {
		return *kind.printer
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

// row prints an object; include is the parameter includeObject.
func (p printer) row(include string, o cache.Object) (metav1.TableRow, error) {
	object := o.AppendJSON(nil)
	cells, err := p.cells(object)
	if err != nil {
		return metav1.TableRow{}, fmt.Errorf("printing %s/%s of cluster %s: %w", o.Namespace(), o.Name(), o.Cluster(), err)
	}
	row := metav1.TableRow{Cells: append(cells, o.Cluster())}
	switch include {
	case string(metav1.IncludeNone):
	case string(metav1.IncludeObject):
		row.Object = runtime.RawExtension{Raw: object}
	default:
		row.Object = runtime.RawExtension{Raw: o.AppendPartialJSON(nil)}
	}
	return row, nil
}

func (tables) object(c call, kind *registered, o cache.Object) ([]byte, error) {
	p := printerOf(kind)
	table := p.table(o.ResourceVersion())
	row, err := p.row(c.URL.Query().Get("includeObject"), o)
	table.Rows = append(table.Rows, row)
	if err != nil {
		return nil, err
	}
	return json.Marshal(table)
}

// list writes rows one after the other, so that a list needs no memory for all.
func (tables) list(to io.Writer, c call, kind *registered, l *cache.List) error {
	p := printerOf(kind)
	table := p.table(l.ResourceVersion)
	table.Continue, table.RemainingItemCount = l.Continue, l.Remaining
	head, err := json.Marshal(table)
	if err != nil {
		return err
	}
	const end = "]}" // of rows, the last field of a Table
	if _, err := to.Write(head[:len(head)-len(end)]); err != nil {
		return err
	}
	include := c.URL.Query().Get("includeObject")
	comma := ""
	for o := range l.All() {
		row, err := p.row(include, o)
		if err != nil {
			return err
		}
		text, err := json.Marshal(row)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(to, "%s%s", comma, text); err != nil {
			return err
		}
		comma = ","
	}
	_, err = io.WriteString(to, end+"\n")
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
	case formJSON:
		return func(e cache.Event) ([]byte, error) {
			if text, ok := e.SharedJSON(); ok {
				return text, nil
			}
			buffer = e.AppendJSON(buffer[:0])
			return buffer, nil
		}
	}
	p := printerOf(kind)
	include := c.URL.Query().Get("includeObject")
	first := true
	return func(e cache.Event) ([]byte, error) {
		if e.Type == watch.Error {
			return e.AppendJSON(nil), nil
		}
		table := p.table(e.ResourceVersion)
		if e.Type != watch.Bookmark {
			row, err := p.row(include, e.Object)
			if err != nil {
				return nil, err
			}
			table.ResourceVersion = e.Object.ResourceVersion()
			table.Rows = append(table.Rows, row)
		} else if e.InitialEventsEnd {
			return e.AppendPartialJSON(nil), nil
		}
		if !first {
			table.ColumnDefinitions = nil
		}
		first = false
		text, err := json.Marshal(table)
		to := append(append(append([]byte(`{"type":"`), e.Type...), `","object":`...), text...)
		return append(to, "}\n"...), err
	}
}
