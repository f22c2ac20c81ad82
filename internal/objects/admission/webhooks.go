package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/patch"
)

// MutatePath and ValidatePath are the URL paths of a kind's webhooks, as kubebuilder names them.
func MutatePath(gvk schema.GroupVersionKind) string { return "/mutate-" + suffix(gvk) }

// ValidatePath is the URL path of a kind's validating webhook.
func ValidatePath(gvk schema.GroupVersionKind) string { return "/validate-" + suffix(gvk) }

func suffix(gvk schema.GroupVersionKind) string {
	return strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
}

// Cache has the objects of the cluster.
type Cache interface {
	// Ready reports whether the cache has all objects that existed at the start.
	Ready() bool
	// ObjectsOf lists the objects of a kind in all namespaces. They must not be modified.
	ObjectsOf(kind client.Object) []client.Object
	// Namespace returns a Namespace, which must not be modified.
	Namespace(name string) (*corev1.Namespace, bool)
}

// Options are what the webhooks need. All fields but Waiting are required.
type Options struct {
	Dialects []dialect.Dialect
	Scheme   *runtime.Scheme
	Cache    Cache
	// Waiting has the reviews that wait for the cache; nil for none.
	Waiting *Waiting
	// IPv6 is true if the cluster's addresses are IPv6.
	IPv6 bool
}

// Handle adds the webhooks of the dialects that have admission or refusals to a mux. They answer from the cache.
func Handle(mux *http.ServeMux, o Options) error {
	for _, rules := range dialect.Implementing[dialect.Admission](o.Dialects) {
		for _, empty := range dialect.OwnKinds(rules) {
			gvk, err := apiutil.GVKForObject(empty, o.Scheme)
			if err != nil {
				return fmt.Errorf("kind of %T: %w", empty, err)
			}
			w := &webhooks{Options: o, rules: rules, gvk: gvk, empty: empty}
			mux.Handle(MutatePath(gvk), &admission.Webhook{Handler: admission.HandlerFunc(w.mutate)})
			mux.Handle(ValidatePath(gvk), &admission.Webhook{Handler: admission.HandlerFunc(w.validate)})
		}
	}
	return handleRefusals(mux, o)
}

// webhooks handles the webhooks of one kind.
type webhooks struct {
	Options
	rules dialect.Admission
	gvk   schema.GroupVersionKind
	empty client.Object
}

func (w *webhooks) mutate(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	stored, before, err := w.objects(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	object, err := w.setDefaults(ctx, stored, before, req.Namespace)
	if err != nil {
		return admission.Denied(err.Error())
	}
	patches, err := patch.Diff(req.Object.Raw, before, object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.Patched("", patches...)
}

// objects decodes the object of a request, and the stored one: nil if it is new.
func (w *webhooks) objects(req admission.Request) (stored, object client.Object, err error) {
	if object, err = w.decode(req.Object.Raw, req.Namespace); err != nil || req.Operation == admissionv1.Create {
		return nil, object, err
	}
	stored, err = w.decode(req.OldObject.Raw, req.Namespace)
	return stored, object, err
}

// setDefaults returns a copy of an object with its defaults. It waits for what it depends on, unless the object is
// invalid in any case.
func (w *webhooks) setDefaults(ctx context.Context, stored, object client.Object,
	namespace string) (client.Object, error) {
	kinds := w.rules.AdmissionReads(object)
	relevant := func(o client.Object) bool {
		if _, is := o.(*corev1.Namespace); is {
			return o.GetName() == namespace
		}
		return slices.ContainsFunc(kinds, func(kind client.Object) bool { return reflect.TypeOf(kind) == reflect.TypeOf(o) })
	}
	var out client.Object
	var denial error
	w.Waiting.Await(ctx, relevant, func() bool {
		read, complete := w.context(kinds, namespace)
		out = object.DeepCopyObject().(client.Object)
		denial = w.rules.Default(stored, out, read)
		var refusal *dialect.Refusal
		return complete && denial == nil || errors.As(denial, &refusal)
	})
	if denial == nil && !w.Cache.Ready() {
		denial = errors.New("the control plane is starting, and does not have all objects yet; try again")
	}
	return out, denial
}

func (w *webhooks) validate(_ context.Context, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("").WithWarnings(w.deletionWarnings(req)...)
	}
	before, object, err := w.objects(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	warnings, denial := w.rules.Validate(before, object)
	if denial != nil {
		return admission.Denied(denial.Error())
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

// deletionWarnings are the warnings for the object that is deleted; none if it cannot be decoded.
func (w *webhooks) deletionWarnings(req admission.Request) []string {
	rules, warns := w.rules.(dialect.DeletionWarnings)
	object, err := w.decode(req.OldObject.Raw, req.Namespace)
	if !warns || err != nil {
		return nil
	}
	read, _ := w.context(rules.DeletionReads(object), req.Namespace)
	return rules.WarnOfDeletion(object, read)
}

// decode decodes an object like the API server: field names are case-sensitive, and duplicates are errors.
func (w *webhooks) decode(raw []byte, namespace string) (client.Object, error) {
	object := reflect.New(reflect.TypeOf(w.empty).Elem()).Interface().(client.Object)
	doubts, err := kjson.UnmarshalStrict(raw, object, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(doubts, err)...); err != nil {
		return nil, fmt.Errorf("the object cannot be decoded as %s: %w", w.gvk.Kind, err)
	}
	gvk := object.GetObjectKind().GroupVersionKind()
	if !gvk.Empty() && (gvk.Kind != w.gvk.Kind || gvk.Group != "" && gvk.GroupVersion() != w.gvk.GroupVersion()) {
		return nil, fmt.Errorf("the object is a %s, but the webhook is for %s", gvk, w.gvk)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(namespace)
	}
	return object, nil
}

// context reads the input of the rules from the cache. It reports whether the cache has it.
func (w *webhooks) context(kinds []client.Object, namespace string) (out dialect.AdmissionContext, complete bool) {
	out, complete = dialect.AdmissionContext{IPv6: w.IPv6}, w.Cache.Ready()
	if namespace != "" {
		found, ok := w.Cache.Namespace(namespace)
		if ok {
			out.NamespaceLabels = found.Labels
		}
		complete = complete && ok
	}
	for _, kind := range kinds {
		out.Objects = append(out.Objects, w.Cache.ObjectsOf(kind)...)
	}
	return out, complete
}
