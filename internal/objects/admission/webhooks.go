package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/list"
	"anymesh.dev/anymesh/internal/objects/patch"
)

// Dialect is a dialect whose objects are defaulted and validated when they are created and updated.
type Dialect interface {
	// Kinds returns an empty object of each kind that the dialect reads. Its own kinds have webhooks.
	Kinds() []client.Object
	// AdmissionReads returns an empty object of each kind that Default reads besides the object.
	AdmissionReads(object client.Object) []client.Object
	// Default sets defaults in place; before is nil for a new object. The error is the text of the denial.
	Default(before, object client.Object, c dialect.AdmissionContext) error
	// Validate returns the denial of an object, or nil; before is nil for a new object.
	Validate(before, object client.Object) error
}

// warning is a dialect that tells the author of an admitted object what is not served as asked for.
type warning interface {
	// Warnings returns the warnings about an object, which the API server passes to the client.
	Warnings(object client.Object) []string
}

// MutatePath and ValidatePath are the URL paths of a kind's webhooks, as kubebuilder names them.
func MutatePath(gvk schema.GroupVersionKind) string { return "/mutate-" + suffix(gvk) }

// ValidatePath is the URL path of a kind's validating webhook.
func ValidatePath(gvk schema.GroupVersionKind) string { return "/validate-" + suffix(gvk) }

func suffix(gvk schema.GroupVersionKind) string {
	return strings.ReplaceAll(gvk.Group, ".", "-") + "-" + gvk.Version + "-" + strings.ToLower(gvk.Kind)
}

// Handle adds the webhooks of the dialects that have admission to a mux. The client must read from the API server, not
// from a cache.
func Handle(mux *http.ServeMux, dialects []dialect.Dialect, c client.Client, ipv6 bool) error {
	for _, d := range dialects {
		rules, ok := d.(Dialect)
		if !ok {
			continue
		}
		for _, empty := range dialect.OwnKinds(rules) {
			gvk, err := apiutil.GVKForObject(empty, c.Scheme())
			if err != nil {
				return fmt.Errorf("kind of %T: %w", empty, err)
			}
			w := &webhooks{rules: rules, gvk: gvk, empty: empty, client: c, ipv6: ipv6}
			mux.Handle(MutatePath(gvk), &admission.Webhook{Handler: admission.HandlerFunc(w.mutate)})
			mux.Handle(ValidatePath(gvk), &admission.Webhook{Handler: admission.HandlerFunc(w.validate)})
		}
	}
	return nil
}

// webhooks handles the webhooks of one kind.
type webhooks struct {
	rules  Dialect
	gvk    schema.GroupVersionKind
	empty  client.Object
	client client.Client
	ipv6   bool
}

func (w *webhooks) mutate(ctx context.Context, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	object, err := w.decode(req.Object.Raw, req.Namespace)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	before := object.DeepCopyObject()
	read, err := w.context(ctx, object, req.Namespace)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	var stored client.Object
	if req.Operation != admissionv1.Create {
		if stored, err = w.decode(req.OldObject.Raw, req.Namespace); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	if err := w.rules.Default(stored, object, read); err != nil {
		return admission.Denied(err.Error())
	}
	patches, err := patch.Diff(req.Object.Raw, before, object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.Patched("", patches...)
}

func (w *webhooks) validate(_ context.Context, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	object, err := w.decode(req.Object.Raw, req.Namespace)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	var before client.Object
	if req.Operation != admissionv1.Create {
		if before, err = w.decode(req.OldObject.Raw, req.Namespace); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
	}
	if err := w.rules.Validate(before, object); err != nil {
		return admission.Denied(err.Error())
	}
	if d, warns := w.rules.(warning); warns && object.GetDeletionTimestamp() == nil {
		return admission.Allowed("").WithWarnings(d.Warnings(object)...)
	}
	return admission.Allowed("")
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

// context reads the input of the rules.
func (w *webhooks) context(ctx context.Context, object client.Object,
	namespace string) (dialect.AdmissionContext, error) {
	out := dialect.AdmissionContext{IPv6: w.ipv6}
	if namespace != "" {
		var ns corev1.Namespace
		err := w.client.Get(ctx, client.ObjectKey{Name: namespace}, &ns)
		if err != nil && !apierrors.IsNotFound(err) {
			return out, fmt.Errorf("reading namespace %s: %w", namespace, err)
		}
		out.NamespaceLabels = ns.Labels
	}
	for _, kind := range w.rules.AdmissionReads(object) {
		objects, err := list.Objects(ctx, w.client, kind)
		if err != nil {
			return out, err
		}
		out.Objects = append(out.Objects, objects...)
	}
	return out, nil
}
