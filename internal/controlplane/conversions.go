package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/objects/conversion"
)

// updateConversions makes API servers convert the kinds whose versions differ by this control plane. Definitions that
// are missing are ignored.
func (cp *controlPlane) updateConversions(ctx context.Context, bundle []byte) error {
	path, port := conversion.Path, int32(443)
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{
		"conversion": apiextensionsv1.CustomResourceConversion{
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
		},
	}})
	if err != nil {
		return err
	}
	var all []error
	for _, d := range dialect.Implementing[dialect.Conversions](cp.dialects) {
		definitions, err := d.Definitions()
		if err != nil {
			return err
		}
		for _, crd := range definitions {
			if !slices.Contains(d.ConvertedKinds(), schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}) {
				continue
			}
			o := &unstructured.Unstructured{}
			o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
			o.SetName(crd.Name)
			err := cp.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
			if err != nil && !apierrors.IsNotFound(err) {
				all = append(all, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err))
			}
		}
	}
	return errors.Join(all...)
}
