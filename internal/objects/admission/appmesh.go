package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/objects/patch"
)

// paths give the end of the URL for each kind, as App Mesh had them.
var paths = map[string]func() client.Object{
	"mesh":           func() client.Object { return &api.Mesh{} },
	"virtualnode":    func() client.Object { return &api.VirtualNode{} },
	"virtualservice": func() client.Object { return &api.VirtualService{} },
	"virtualrouter":  func() client.Object { return &api.VirtualRouter{} },
	"virtualgateway": func() client.Object { return &api.VirtualGateway{} },
	"gatewayroute":   func() client.Object { return &api.GatewayRoute{} },
	"backendgroup":   func() client.Object { return &api.BackendGroup{} },
}

// AppMesh adds the webhooks of App Mesh's kinds to a mux. The reader must read from the API server, not from a cache.
func AppMesh(mux *http.ServeMux, reader client.Reader, ipv6 bool) {
	for name, empty := range paths {
		mutate := admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
			return mutate(ctx, reader, ipv6, empty(), req)
		})
		validate := admission.HandlerFunc(func(_ context.Context, req admission.Request) admission.Response {
			return validate(empty, req)
		})
		mux.Handle("/mutate-appmesh-k8s-aws-v1beta2-"+name, &admission.Webhook{Handler: mutate})
		mux.Handle("/validate-appmesh-k8s-aws-v1beta2-"+name, &admission.Webhook{Handler: validate})
	}
}

func mutate(ctx context.Context, reader client.Reader, ipv6 bool, object client.Object, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	if err := decode(req.Object.Raw, object, req.Namespace); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	before := object.DeepCopyObject()
	around, err := surroundings(ctx, reader, ipv6, req)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if req.Operation == admissionv1.Create {
		if err := appmesh.DefaultCreate(object, around); err != nil {
			return admission.Denied(err.Error())
		}
	} else {
		appmesh.DefaultUpdate(object, around)
	}
	patches, err := patch.Diff(req.Object.Raw, before, object)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.Patched("", patches...)
}

func validate(empty func() client.Object, req admission.Request) admission.Response {
	if req.Operation == admissionv1.Delete {
		return admission.Allowed("")
	}
	object := empty()
	if err := decode(req.Object.Raw, object, req.Namespace); err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	var err error
	if req.Operation == admissionv1.Create {
		err = appmesh.ValidateCreate(object)
	} else {
		before := empty()
		if err := decode(req.OldObject.Raw, before, req.Namespace); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		err = appmesh.ValidateUpdate(before, object)
	}
	if err != nil {
		return admission.Denied(err.Error())
	}
	return admission.Allowed("")
}

// decode reads an object as the API server does: names of fields have a case, and none is given twice.
func decode(raw []byte, into client.Object, namespace string) error {
	kind := reflect.TypeOf(into).Elem().Name()
	doubts, err := kjson.UnmarshalStrict(raw, into, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(doubts, err)...); err != nil {
		return fmt.Errorf("the object cannot be read as a %s: %w", kind, err)
	}
	if gvk := into.GetObjectKind().GroupVersionKind(); !gvk.Empty() && (gvk.Kind != kind || gvk.Group != "" && gvk.GroupVersion() != api.GroupVersion) {
		return fmt.Errorf("the object is a %s, and was sent to the webhook of %s", gvk, api.GroupVersion.WithKind(kind))
	}
	if into.GetNamespace() == "" {
		into.SetNamespace(namespace)
	}
	return nil
}

// surroundings reads what the rules look at.
func surroundings(ctx context.Context, reader client.Reader, ipv6 bool, req admission.Request) (appmesh.Surroundings, error) {
	s := appmesh.Surroundings{IPv6: ipv6}
	if req.Namespace != "" {
		var namespace corev1.Namespace
		err := reader.Get(ctx, client.ObjectKey{Name: req.Namespace}, &namespace)
		if err != nil && !apierrors.IsNotFound(err) {
			return s, fmt.Errorf("reading namespace %s: %w", req.Namespace, err)
		}
		s.NamespaceLabels = namespace.Labels
	}
	var meshes api.MeshList
	if err := reader.List(ctx, &meshes); err != nil {
		return s, fmt.Errorf("listing meshes: %w", err)
	}
	for i := range meshes.Items {
		s.Meshes = append(s.Meshes, &meshes.Items[i])
	}
	if req.Kind.Kind == api.KindGatewayRoute {
		var gateways api.VirtualGatewayList
		if err := reader.List(ctx, &gateways); err != nil {
			return s, fmt.Errorf("listing virtual gateways: %w", err)
		}
		for i := range gateways.Items {
			s.Gateways = append(s.Gateways, &gateways.Items[i])
		}
	}
	return s, nil
}
