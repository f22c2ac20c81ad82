package dialect

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// AdmissionContext is what the admission of an object reads besides the object.
type AdmissionContext struct {
	// NamespaceLabels are the labels of the object's namespace; nil for an object without one.
	NamespaceLabels map[string]string
	// Objects are those of the kinds that the dialect asks for, as they are stored.
	Objects []client.Object
	// IPv6 says that the cluster's addresses are of this family.
	IPv6 bool
}

// ObjectsOf picks the objects of a type.
func ObjectsOf[T client.Object](objects []client.Object) []T {
	var out []T
	for _, o := range objects {
		if t, is := o.(T); is {
			out = append(out, t)
		}
	}
	return out
}

// Refusal is the denial of an object that no mesh can carry as it is written, whatever other objects there are.
type Refusal struct {
	// Findings are what is wrong, at least one, in canonical order: the ones that the object would have in its status.
	Findings []model.Finding
}

// Error names each field, what is wrong with it, and the code.
func (r *Refusal) Error() string {
	var faults []string
	for _, f := range r.Findings {
		at := f.Path
		if at == "" {
			at = "the object"
		}
		faults = append(faults, at+": "+f.Text+" ["+string(f.Code)+"]")
	}
	return r.Findings[0].Object.String() + " cannot be served as it is written: " + strings.Join(faults, "; ")
}
