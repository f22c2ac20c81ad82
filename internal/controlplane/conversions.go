package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/conversion"
)

// updateConversions makes API servers convert the kinds whose versions differ by this control plane. Definitions that
// are missing, or that have the conversion, are left alone.
func (cp *controlPlane) updateConversions(ctx context.Context, bundle []byte) error {
	path, port := conversion.Path, int32(443)
	want := apiextensionsv1.CustomResourceConversion{
		Strategy: apiextensionsv1.WebhookConverter,
		Webhook: &apiextensionsv1.WebhookConversion{
			ConversionReviewVersions: []string{"v1"},
			ClientConfig: &apiextensionsv1.WebhookClientConfig{
				CABundle: bundle,
				Service: &apiextensionsv1.ServiceReference{
					Namespace: cp.Namespace, Name: webhookConfigurations, Path: &path, Port: &port,
				},
			},
		},
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"conversion": want}})
	if err != nil {
		return err
	}
	names, err := cp.convertedDefinitions()
	if err != nil {
		return err
	}
	var all []error
	for _, name := range names {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
		err := cp.client.Get(ctx, client.ObjectKey{Name: name}, o)
		if err == nil && !equality.Semantic.DeepEqual(conversionOf(o), want) {
			err = cp.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			all = append(all, fmt.Errorf("CustomResourceDefinition %s: %w", name, err))
		}
	}
	return errors.Join(all...)
}

// conversionOf returns the conversion of a definition, which has no other part that is decoded.
func conversionOf(definition *unstructured.Unstructured) (out apiextensionsv1.CustomResourceConversion) {
	fields, _, err := unstructured.NestedMap(definition.Object, "spec", "conversion")
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &out)
	}
	if err != nil {
		return apiextensionsv1.CustomResourceConversion{}
	}
	return out
}

// convertedDefinitions lists the names of the definitions of the kinds whose versions differ.
func (cp *controlPlane) convertedDefinitions() ([]string, error) {
	var out []string
	for _, d := range dialect.Implementing[dialect.Conversions](cp.dialects) {
		definitions, err := d.Definitions()
		if err != nil {
			return nil, err
		}
		for _, crd := range definitions {
			if slices.Contains(d.ConvertedKinds(), schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}) {
				out = append(out, crd.Name)
			}
		}
	}
	return out, nil
}

// watchConversions calls changed after each change of the definitions of the kinds whose versions differ, until the
// context ends. The permissions of the control plane are for these names only.
func (cp *controlPlane) watchConversions(ctx context.Context, changed func()) error {
	names, err := cp.convertedDefinitions()
	if err != nil {
		return err
	}
	definitions := cp.kube.metadata.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"))
	for _, name := range names {
		selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		one := &toolscache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.FieldSelector = selector
				return definitions.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.FieldSelector = selector
				return definitions.Watch(ctx, o)
			},
		}
		_, controller := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
			ListerWatcher: toolscache.ToListWatcherWithWatchListSemantics(one, cp.kube.metadata),
			ObjectType:    &metav1.PartialObjectMetadata{},
			Handler: toolscache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() },
			},
			Transform: trimDefinition,
		})
		go controller.RunWithContext(ctx)
	}
	return nil
}

// trimDefinition removes what is not read: an annotation of kubectl has the whole definition.
func trimDefinition(object any) (any, error) {
	if o, is := object.(*metav1.PartialObjectMetadata); is {
		o.Annotations, o.Labels, o.ManagedFields = nil, nil, nil
	}
	return object, nil
}
