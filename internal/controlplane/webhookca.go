package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookConfigurations is the name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration.
const webhookConfigurations = "anymesh"

// runWebhookCA keeps the caBundle of the webhook configurations up to date. Applying the manifests again clears the
// field.
func (cp *controlPlane) runWebhookCA(ctx context.Context) error {
	for {
		if err := cp.updateWebhookCA(ctx); err != nil && ctx.Err() == nil {
			cp.Log.Warn("caBundle of the webhook configurations is not updated; retrying", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(2 * time.Second):
		}
	}
}

func (cp *controlPlane) updateWebhookCA(ctx context.Context) error {
	bundle := cp.ca.Bundle().PEM()
	key := client.ObjectKey{Name: webhookConfigurations}
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	if err := cp.client.Get(ctx, key, &mutating); err != nil {
		return fmt.Errorf("MutatingWebhookConfiguration %s: %w", key.Name, err)
	}
	var clients []*admissionregistrationv1.WebhookClientConfig
	old := mutating.DeepCopy()
	for i := range mutating.Webhooks {
		clients = append(clients, &mutating.Webhooks[i].ClientConfig)
	}
	if setCABundle(clients, bundle) {
		if err := cp.client.Patch(ctx, &mutating,
			client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("MutatingWebhookConfiguration %s: %w", key.Name, err)
		}
	}
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := cp.client.Get(ctx, key, &validating); err != nil {
		return fmt.Errorf("ValidatingWebhookConfiguration %s: %w", key.Name, err)
	}
	clients = nil
	oldValidating := validating.DeepCopy()
	for i := range validating.Webhooks {
		clients = append(clients, &validating.Webhooks[i].ClientConfig)
	}
	if setCABundle(clients, bundle) {
		if err := cp.client.Patch(ctx, &validating,
			client.MergeFromWithOptions(oldValidating, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("ValidatingWebhookConfiguration %s: %w", key.Name, err)
		}
	}
	return nil
}

func setCABundle(clients []*admissionregistrationv1.WebhookClientConfig, bundle []byte) (changed bool) {
	for _, c := range clients {
		if !bytes.Equal(c.CABundle, bundle) {
			c.CABundle, changed = bundle, true
		}
	}
	return changed
}
