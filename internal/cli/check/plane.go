package check

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// soon is how long an authority should be valid yet.
const soon = 30 * 24 * time.Hour

func ready(ctx context.Context, c *Cluster) (string, error) {
	var d appsv1.Deployment
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: ours}, &d)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("there is no Deployment %s in namespace %s", ours, c.Namespace)
	}
	if err != nil {
		return "", err
	}
	return judgeDeployment(&d)
}

func judgeDeployment(d *appsv1.Deployment) (string, error) {
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	if want == 0 {
		return "", fmt.Errorf("Deployment %s is scaled to 0 replicas", d.Name)
	}
	if s := d.Status; s.AvailableReplicas < want || s.UpdatedReplicas < want || s.ObservedGeneration < d.Generation {
		return "", fmt.Errorf("%d of %d replicas are available, %d are of the newest version", s.AvailableReplicas, want, s.UpdatedReplicas)
	}
	return fmt.Sprintf("%d of %d replicas, image %s", d.Status.AvailableReplicas, want, d.Spec.Template.Spec.Containers[0].Image), nil
}

// bundles gives the caBundle of each webhook, by its name.
func bundles(ctx context.Context, c *Cluster) (map[string][]byte, error) {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Client.Get(ctx, client.ObjectKey{Name: ours}, &mutating); err != nil {
		return nil, fmt.Errorf("MutatingWebhookConfiguration %s: %w", ours, err)
	}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: ours}, &validating); err != nil {
		return nil, fmt.Errorf("ValidatingWebhookConfiguration %s: %w", ours, err)
	}
	out := map[string][]byte{}
	for _, w := range mutating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	for _, w := range validating.Webhooks {
		out[w.Name] = w.ClientConfig.CABundle
	}
	return out, nil
}

// certificates looks at the authority as the webhooks have it, which needs no right to read secrets.
func certificates(ctx context.Context, c *Cluster) (string, error) {
	all, err := bundles(ctx, c)
	if err != nil {
		return "", err
	}
	for _, bundle := range all {
		if len(bundle) > 0 {
			return judgeBundle(bundle, c.Now)
		}
	}
	return "", errors.New("the control plane has published no authority yet")
}

// judgeBundle says until when the authorities of a bundle are valid, or what is wrong with them.
func judgeBundle(bundle []byte, now time.Time) (string, error) {
	var first time.Time
	for len(bundle) > 0 {
		block, rest := pem.Decode(bundle)
		if block == nil {
			break
		}
		bundle = rest
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return "", fmt.Errorf("caBundle: %w", err)
		}
		name := certificate.Subject.String()
		if now.Before(certificate.NotBefore) || now.After(certificate.NotAfter) {
			return "", fmt.Errorf("%s is valid from %s to %s only", name, certificate.NotBefore.Format(time.RFC3339), certificate.NotAfter.Format(time.RFC3339))
		}
		if first.IsZero() || certificate.NotAfter.Before(first) {
			first = certificate.NotAfter
		}
	}
	if first.IsZero() {
		return "", errors.New("caBundle holds no certificate")
	}
	if left := first.Sub(now); left < soon {
		return "", warn("the authority is valid for %d more days only", int(left.Hours()/24))
	}
	return "until " + first.Format(time.DateOnly), nil
}

func trusted(ctx context.Context, c *Cluster) (string, error) {
	all, err := bundles(ctx, c)
	if err != nil {
		return "", err
	}
	for name, bundle := range all {
		if len(bundle) == 0 {
			return "", fmt.Errorf("webhook %s has no caBundle", name)
		}
	}
	return fmt.Sprintf("%d webhooks", len(all)), nil
}

// trial is a dialect whose admission can be tried.
type trial interface {
	// AdmissionTrial gives an object of a name whose creation, as a dry run, shows whether the webhooks answer, and the check of the
	// object as it comes back.
	AdmissionTrial(name string) (client.Object, func() error)
}

// webhooks creates an object of each dialect as a dry run: nothing is stored. It must come back with its defaults.
func webhooks(ctx context.Context, c *Cluster) (string, error) {
	begin := time.Now()
	for _, d := range c.Dialects {
		t, is := d.(trial)
		if !is {
			continue
		}
		object, check := t.AdmissionTrial("anymesh-check-" + strings.ToLower(rand.Text()[:8]))
		if err := c.Client.Create(ctx, object, client.DryRunAll); err != nil {
			if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "admission webhook") {
				return "", warn("you may not create an object for a trial: %v", err)
			}
			return "", err
		}
		if err := check(); err != nil {
			return "", fmt.Errorf("object for a trial of %s: %w", d.Title(), err)
		}
	}
	return "within " + time.Since(begin).Round(time.Millisecond).String(), nil
}
