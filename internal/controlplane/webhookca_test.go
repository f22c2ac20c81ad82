package controlplane

import (
	"bytes"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Applying the manifests again clears caBundle. The control plane restores it, and does not write if it is correct.
func TestWebhookCABundleIsRestored(t *testing.T) {
	cp := newTestControlPlane()
	cp.ca = newCA(t)
	mutating := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookConfigurations},
		Webhooks: []admissionregistrationv1.MutatingWebhook{
			{Name: "a.x"},
			{Name: "b.x", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte("old")}},
		},
	}
	validating := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: webhookConfigurations},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "c.x"}},
	}
	cp.client = newFakeClient(t, mutating)
	if err := cp.updateWebhookCA(t.Context(), cp.ca.Bundle().PEM()); err != nil { // the other one is missing
		t.Fatal(err)
	}
	if err := cp.client.Create(t.Context(), validating); err != nil {
		t.Fatal(err)
	}
	versions := map[string]bool{}
	for range 3 {
		if err := cp.updateWebhookCA(t.Context(), cp.ca.Bundle().PEM()); err != nil {
			t.Fatal(err)
		}
		for _, o := range []client.Object{mutating, validating} {
			if err := cp.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
				t.Fatal(err)
			}
		}
		versions[mutating.ResourceVersion+" "+validating.ResourceVersion] = true
	}
	for _, c := range []admissionregistrationv1.WebhookClientConfig{
		mutating.Webhooks[0].ClientConfig, mutating.Webhooks[1].ClientConfig, validating.Webhooks[0].ClientConfig,
	} {
		if !bytes.Equal(c.CABundle, cp.ca.Bundle().PEM()) {
			t.Errorf("got caBundle %q", c.CABundle)
		}
	}
	if len(versions) != 1 {
		t.Errorf("correct configurations were written: %v", versions)
	}
}
