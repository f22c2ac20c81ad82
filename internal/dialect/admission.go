package dialect

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
)

// Admission is a dialect whose own kinds have webhooks: their objects are defaulted and validated when they are created
// and updated. In all methods, before is nil for a new object.
type Admission interface {
	Dialect
	// AdmissionReads returns an empty object of each kind that Default reads besides the object.
	AdmissionReads(object client.Object) []client.Object
	// Default sets defaults in place. The error is the text of the denial, a *Refusal if the object is invalid in any
	// case.
	Default(before, object client.Object, c AdmissionContext) error
	// Validate returns the denial of an object, or nil. The warnings tell the author of an admitted object what is not
	// served as asked for.
	Validate(before, object client.Object) (warnings []string, denial error)
	// AdmissionTrial returns an object with the given name to create as a dry run, and a function that checks the defaults
	// that it then has.
	AdmissionTrial(name string) (client.Object, func() error)
}

// DeletionWarnings is a dialect that tells who deletes an object of its own kinds which traffic then fails. A deletion
// is never refused, and does not wait for a control plane that is away.
type DeletionWarnings interface {
	Admission
	// DeletionReads returns an empty object of each kind that WarnOfDeletion reads; none for a kind without warnings.
	DeletionReads(object client.Object) []client.Object
	// WarnOfDeletion returns the warnings for the deletion of an object.
	WarnOfDeletion(object client.Object, c AdmissionContext) []string
}

// AdmissionContext is the input of admission rules besides the object.
type AdmissionContext struct {
	// NamespaceLabels are the labels of the object's namespace; nil for an object without one.
	NamespaceLabels map[string]string
	// Objects are the stored objects of the kinds that the dialect requests.
	Objects []client.Object
	// IPv6 is true if the cluster's addresses are IPv6.
	IPv6 bool
}

// ObjectsOf returns the objects of a type.
func ObjectsOf[T client.Object](objects []client.Object) []T {
	var out []T
	for _, o := range objects {
		if t, is := o.(T); is {
			out = append(out, t)
		}
	}
	return out
}

// Refusal is the denial of an object that is invalid independently of other objects.
type Refusal struct {
	// Findings are the reasons, at least one, in canonical order. They are the findings that the object's status would
	// have.
	Findings []model.Finding
}

// Error lists the field, text and code of each finding.
func (r *Refusal) Error() string {
	var faults []string
	for _, f := range r.Findings {
		at := f.Path
		if at == "" {
			at = "the object"
		}
		faults = append(faults, at+": "+f.Text+" ["+string(f.Code)+"]")
	}
	return r.Findings[0].Object.String() + " is invalid: " + strings.Join(faults, "; ")
}
