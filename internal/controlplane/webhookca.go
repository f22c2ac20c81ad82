package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// webhookConfigurations is the name of both configurations by which the API server asks us.
const webhookConfigurations = "anymesh"

// runLeader is the work of the one replica that writes: what became of objects, and the end of those that are being deleted.
func (cp *controlPlane) runLeader(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { cp.writer.Run(ctx) })
	both.Go(func() { cp.finalizerRemover.Run(ctx) })
	both.Wait()
}

// runWebhookCA tells the API server by which authority it knows our webhooks, and keeps telling it: whoever applies the manifests again
// empties the field.
func (cp *controlPlane) runWebhookCA(ctx context.Context) error {
	for {
		if err := cp.updateWebhookCA(ctx); err != nil && ctx.Err() == nil {
			cp.Log.Warn("the API server does not know our authority yet; it will be tried again", "error", err)
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
		if err := cp.client.Patch(ctx, &mutating, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})); err != nil {
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
		if err := cp.client.Patch(ctx, &validating, client.MergeFromWithOptions(oldValidating, client.MergeFromWithOptimisticLock{})); err != nil {
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
