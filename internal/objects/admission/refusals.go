package admission

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"anymesh.dev/anymesh/internal/dialect"
)

// handleRefusals adds the webhooks of kinds that have refusals only.
func handleRefusals(mux *http.ServeMux, o Options) error {
	for _, rules := range dialect.Implementing[dialect.Refusals](o.Dialects) {
		for _, empty := range rules.RefusedKinds() {
			gvk, err := apiutil.GVKForObject(empty, o.Scheme)
			if err != nil {
				return fmt.Errorf("kind of %T: %w", empty, err)
			}
			w := &webhooks{Options: o, gvk: gvk, empty: empty}
			mux.Handle(ValidatePath(gvk), &admission.Webhook{Handler: admission.HandlerFunc(
				func(ctx context.Context, req admission.Request) admission.Response { return w.refuse(ctx, rules, req) })})
		}
	}
	return nil
}

// refuse judges an object by itself, and then beside the others. It waits until the cache has those that were just
// changed.
func (w *webhooks) refuse(ctx context.Context, rules dialect.Refusals, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	before, object, err := w.objects(req)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if err := rules.Refuse(before, object, nil); err != nil {
		return admission.Denied(err.Error())
	}
	relevant := func(o client.Object) bool { return reflect.TypeOf(o) == reflect.TypeOf(object) }
	var denial error
	w.Waiting.Await(ctx, relevant, func() bool {
		denial = rules.Refuse(before, object, w.Cache.ObjectsOf(w.empty))
		return denial == nil && w.Cache.Ready()
	})
	if denial != nil {
		return admission.Denied(denial.Error())
	}
	return admission.Allowed("")
}
