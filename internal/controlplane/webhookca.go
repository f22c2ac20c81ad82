package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/identity"
)

// webhookConfigurations is the name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration.
const webhookConfigurations = "anymesh"

// caBundleInterval is the interval of comparing the trust bundle with the one that was written, and of repeating failed
// updates.
const caBundleInterval = 2 * time.Second

// runWebhookCA keeps the caBundle of the webhook configurations equal to the trust bundle, and the conversion of kinds
// by this control plane: it updates them when the bundle changes, and when somebody else changes them, for example by
// applying the manifests again.
func (cp *controlPlane) runWebhookCA(ctx context.Context) error {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}
	watchWebhooks(ctx, cp.kube.core, notify)
	if err := cp.watchConversions(ctx, notify); err != nil {
		return err
	}
	ticks := time.NewTicker(caBundleInterval)
	defer ticks.Stop()
	var written *identity.Bundle // nil after an error
	for {
		if bundle := cp.ca.Bundle(); bundle != written {
			written = bundle
			if err := cp.updateWebhookCA(ctx, bundle.PEM()); err != nil && ctx.Err() == nil {
				written = nil
				cp.Log.Warn("caBundle of the webhook configurations is not updated; retrying", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			written = nil
		case <-ticks.C:
		}
	}
}

// watchWebhooks calls changed after each change of the webhook configurations, until the context ends.
func watchWebhooks(ctx context.Context, kube kubernetes.Interface, changed func()) {
	for resource, object := range map[string]runtime.Object{
		"mutatingwebhookconfigurations":   &admissionregistrationv1.MutatingWebhookConfiguration{},
		"validatingwebhookconfigurations": &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		_, controller := toolscache.NewInformerWithOptions(toolscache.InformerOptions{
			ListerWatcher: toolscache.NewListWatchFromClient(kube.AdmissionregistrationV1().RESTClient(), resource, "",
				fields.OneTermEqualSelector(metav1.ObjectNameField, webhookConfigurations)),
			ObjectType: object,
			Handler: toolscache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() },
			},
		})
		go controller.RunWithContext(ctx)
	}
}

// updateWebhookCA sets caBundle of the webhook configurations that exist, and of the conversions. A missing one is
// reported when it is created.
func (cp *controlPlane) updateWebhookCA(ctx context.Context, bundle []byte) error {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	return errors.Join(
		cp.setCABundle(ctx, &mutating, bundle, func() (all []*admissionregistrationv1.WebhookClientConfig) {
			for i := range mutating.Webhooks {
				all = append(all, &mutating.Webhooks[i].ClientConfig)
			}
			return all
		}),
		cp.setCABundle(ctx, &validating, bundle, func() (all []*admissionregistrationv1.WebhookClientConfig) {
			for i := range validating.Webhooks {
				all = append(all, &validating.Webhooks[i].ClientConfig)
			}
			return all
		}),
		cp.updateConversions(ctx, bundle))
}

// setCABundle reads a webhook configuration, and sets caBundle of its clients where it differs.
func (cp *controlPlane) setCABundle(ctx context.Context, into client.Object, bundle []byte,
	clients func() []*admissionregistrationv1.WebhookClientConfig) error {
	kind := reflect.TypeOf(into).Elem().Name()
	err := cp.client.Get(ctx, client.ObjectKey{Name: webhookConfigurations}, into)
	if apierrors.IsNotFound(err) {
		cp.Log.Warn("a webhook configuration is missing; its caBundle is set when it is created", "kind", kind,
			"name", webhookConfigurations)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", kind, webhookConfigurations, err)
	}
	old := into.DeepCopyObject().(client.Object)
	changed := false
	for _, c := range clients() {
		if !bytes.Equal(c.CABundle, bundle) {
			c.CABundle, changed = bundle, true
		}
	}
	if !changed {
		return nil
	}
	patch := client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})
	if err := cp.client.Patch(ctx, into, patch); err != nil {
		return fmt.Errorf("%s %s: %w", kind, webhookConfigurations, err)
	}
	return nil
}
