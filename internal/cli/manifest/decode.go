package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	strictjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Set is the decoded content of files.
type Set struct {
	// Objects are the objects that dialects read, and one pod per Deployment or other workload.
	Objects []client.Object
	// Sources maps objects to their documents.
	Sources map[model.ObjectRef]*Document
	// Read counts the decoded documents, including workloads.
	Read int
	// Skipped counts the objects of other kinds, by kind; by KIND.GROUP if dialects read a kind of the same name.
	Skipped map[string]int
	Faults  []Fault
	// Assumptions are assumptions about objects that are not in the files.
	Assumptions []string
}

// Decode decodes documents of the given kinds. Namespaced objects without a namespace get the given namespace.
func Decode(documents []*Document, kinds []client.Object, namespace string) (*Set, error) {
	scheme, err := dialect.Scheme()
	if err != nil {
		return nil, err
	}
	d := decoder{
		scheme: scheme, namespace: namespace, read: map[schema.GroupVersionKind]bool{}, groups: map[string]bool{},
	}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", kind, err)
		}
		d.read[gvk] = true
	}
	if d.served, err = ServedVersions(); err != nil {
		return nil, err
	}
	for _, kind := range definedKinds(kinds) { // other groups have kinds that no dialect reads
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", kind, err)
		}
		d.groups[gvk.Group] = true
	}
	d.set = &Set{Sources: map[model.ObjectRef]*Document{}, Skipped: map[string]int{}}
	if d.set.Faults, err = Convert(documents); err != nil {
		return nil, err
	}
	for _, document := range documents {
		d.document(document)
	}
	return d.set, nil
}

// definedKinds are the kinds of which dialects have the definitions: not those of Kubernetes, and of others.
func definedKinds(kinds []client.Object) []client.Object {
	_, optional := dialect.SplitKinds(dialect.All())
	for _, d := range dialect.Implementing[dialect.Installed](dialect.All()) {
		installed, _ := d.Installed()
		_, more := dialect.SplitKinds([]dialect.Dialect{installed})
		optional = append(optional, more...)
	}
	return slices.DeleteFunc(dialect.OwnKinds(all(kinds)), func(kind client.Object) bool {
		return slices.ContainsFunc(optional, func(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(kind) })
	})
}

// all are kinds in the form that dialect.OwnKinds takes.
type all []client.Object

// Kinds returns the kinds.
func (a all) Kinds() []client.Object { return a }

type decoder struct {
	scheme    *runtime.Scheme
	namespace string
	read      map[schema.GroupVersionKind]bool
	groups    map[string]bool // API groups of dialects
	served    map[schema.GroupVersionKind]schema.GroupVersionKind
	set       *Set
}

func (d *decoder) document(document *Document) {
	if stored, is := d.served[document.GVK]; is && d.read[stored] && !d.read[document.GVK] {
		document.GVK = stored
	}
	switch {
	case document.unknown:
	case d.read[document.GVK]:
		d.object(document)
	case d.groups[document.GVK.Group]:
		d.set.Faults = append(d.set.Faults, document.fault("", model.CodeUnreadable,
			"%s has no kind %s in version %s", document.GVK.Group, document.GVK.Kind, document.GVK.Version))
	default:
		if pods := podsOf(document, d.namespace); len(pods) > 0 {
			document.Ref.Namespace = pods[0].Namespace
			d.set.Sources[document.Ref] = document
			for _, pod := range pods {
				d.set.Objects = append(d.set.Objects, pod)
			}
			d.count(document)
			return
		}
		if document.File != "" {
			d.set.Skipped[dialect.KindName(document.GVK.GroupKind())]++
		}
	}
}

// count counts a document of a file.
func (d *decoder) count(document *Document) {
	if document.File != "" {
		d.set.Read++
	}
}

// object decodes strictly to find fields that an API server drops, and keeps the known fields.
func (d *decoder) object(document *Document) {
	made, err := d.scheme.New(document.GVK)
	if err != nil {
		d.set.Faults = append(d.set.Faults, document.fault("", model.CodeUnreadable, "%v", err))
		return
	}
	object := made.(client.Object)
	if !dialect.ClusterScoped(document.GVK.GroupKind()) {
		if document.Ref.Namespace == "" {
			document.Ref.Namespace = d.namespace
		}
	} else {
		document.Ref.Namespace = ""
	}
	strict, err := strictjson.UnmarshalStrict(document.Content(), object)
	if err != nil {
		d.set.Faults = append(d.set.Faults, document.fault(pathIn(err), model.CodeUnreadable, "%s", mismatch(err)))
		return
	}
	for _, fault := range strict {
		path := ""
		var f strictjson.FieldError
		if errors.As(fault, &f) {
			path = f.FieldPath()
		}
		d.set.Faults = append(d.set.Faults, document.fault(path, model.CodeUnknownField, unknownField, document.GVK.Kind))
	}
	object.SetNamespace(document.Ref.Namespace)
	if object.GetName() == "" {
		d.set.Faults = append(d.set.Faults,
			document.fault("metadata.name", model.CodeInvalidField, "the object has no name"))
		return
	}
	first := d.set.Sources[document.Ref]
	d.set.Sources[document.Ref] = document
	if first != nil {
		if !bytes.Equal(first.Content(), document.Content()) {
			steps := ""
			if first.File != document.File {
				steps = "; check files that are successive steps one by one"
			}
			d.set.Faults = append(d.set.Faults, document.fault("metadata.name", model.CodeDuplicate,
				"%s line %d also defines %s, with other content; this definition is used, because it is applied last%s",
				first.File, first.Line, document.Ref, steps))
		}
		d.set.Objects = slices.DeleteFunc(d.set.Objects, func(o client.Object) bool {
			return reflect.TypeOf(o) == reflect.TypeOf(object) &&
				client.ObjectKeyFromObject(o) == client.ObjectKeyFromObject(object)
		})
	} else {
		d.count(document)
	}
	if document.GVK.Group == "" && document.GVK.Kind == "Pod" && object.GetUID() == "" {
		object.SetUID(types.UID(document.Ref.String())) // pods are identified by UID
	}
	d.set.Objects = append(d.set.Objects, object)
}

// pathIn returns the field with a value of the wrong type.
func pathIn(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrong.Field
	}
	return ""
}

// mismatch tells the kinds of a value and of its field.
func mismatch(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	found, _, _ := strings.Cut(wrong.Value, " ") // a number has its text
	if of := kindsOfJSON[found]; of != "" {
		found = of
	}
	return WrongKind(found, kindName(wrong.Type))
}

// kindsOfJSON are the kinds of values as the decoder names them.
var kindsOfJSON = map[string]string{
	"object": "an object", "array": "a list", "string": "a string", "number": "a number", "bool": "a boolean",
}
