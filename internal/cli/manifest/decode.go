package manifest

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	strictjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Set is what files hold for dialects.
type Set struct {
	// Objects are those that dialects read, and a pod for each workload.
	Objects []client.Object
	// Sources tells where an object was read.
	Sources map[model.ObjectRef]*Document
	// Read counts the documents that count, those of workloads among them.
	Read int
	// Passed counts the objects that were passed over, by kind.
	Passed map[string]int
	Faults []Fault
	// Assumptions are what was taken for granted, for people to read.
	Assumptions []string
}

// Decode turns documents into objects of the given kinds. Objects without a namespace get the given one, if their kind has namespaces.
func Decode(documents []*Document, kinds []client.Object, namespace string) (*Set, error) {
	scheme, err := dialect.Scheme()
	if err != nil {
		return nil, err
	}
	d := decoder{scheme: scheme, namespace: namespace, read: map[schema.GroupVersionKind]bool{}, groups: map[string]bool{}}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, scheme)
		if err != nil {
			return nil, fmt.Errorf("kind of %T: %w", kind, err)
		}
		d.read[gvk] = true
		d.groups[gvk.Group] = gvk.Group != ""
	}
	d.set = &Set{Sources: map[model.ObjectRef]*Document{}, Passed: map[string]int{}}
	for _, document := range documents {
		d.document(document)
	}
	return d.set, nil
}

type decoder struct {
	scheme    *runtime.Scheme
	namespace string
	read      map[schema.GroupVersionKind]bool
	groups    map[string]bool // those that are ours alone
	set       *Set
}

func (d *decoder) document(document *Document) {
	switch {
	case d.read[document.GVK]:
		d.object(document)
	case d.groups[document.GVK.Group]:
		d.set.Faults = append(d.set.Faults, document.fault("", model.CodeUnreadable,
			"%s has no kind %s in version %s", document.GVK.Group, document.GVK.Kind, document.GVK.Version))
	default:
		if pod, ok := podOf(document, d.namespace); ok {
			d.set.Objects = append(d.set.Objects, pod)
			d.set.Read++
			return
		}
		d.set.Passed[document.GVK.Kind]++
	}
}

// object decodes strictly, to tell what an API server would drop, and takes what there is.
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
	strict, err := strictjson.UnmarshalStrict(document.JSON, object)
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
		d.set.Faults = append(d.set.Faults, document.fault(path, model.CodeUnknownField, "%s has no such field; an API server refuses or drops it", document.GVK.Kind))
	}
	object.SetNamespace(document.Ref.Namespace)
	if object.GetName() == "" {
		d.set.Faults = append(d.set.Faults, document.fault("metadata.name", model.CodeInvalidField, "the object has no name"))
		return
	}
	if first := d.set.Sources[document.Ref]; first != nil {
		d.set.Faults = append(d.set.Faults, document.fault("metadata.name", model.CodeDuplicate,
			"%s line %d describes %s too; the first is taken", first.File, first.Line, document.Ref))
		return
	}
	d.set.Sources[document.Ref] = document
	d.set.Read++
	if document.GVK.Group == "" && document.GVK.Kind == "Pod" && object.GetUID() == "" {
		object.SetUID(types.UID(document.Ref.String())) // pods are told apart by their unique ids
	}
	d.set.Objects = append(d.set.Objects, object)
}

// pathIn finds the field of a value of the wrong type.
func pathIn(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return wrong.Field
	}
	return ""
}

func mismatch(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fmt.Sprintf("the value is a %s where a %s is wanted", wrong.Value, wrong.Type)
	}
	return err.Error()
}
