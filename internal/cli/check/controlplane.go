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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/rollout"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/identity"
)

// expiryWarning is the remaining validity of a CA below which the check warns.
const expiryWarning = 30 * 24 * time.Hour

func ready(ctx context.Context, c *Cluster) (string, error) {
	var d appsv1.Deployment
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: resourceName}, &d)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("Deployment %s not found in namespace %s", resourceName, c.Namespace)
	}
	if err != nil {
		return "", err
	}
	detail, err := deploymentReady(&d)
	if err == nil {
		return detail, nil
	}
	faults, listErr := rollout.Faults(ctx, c.Client, &d)
	if listErr != nil {
		return "", fmt.Errorf("%w; its pods cannot be listed: %w", err, listErr)
	}
	faults = append(faults, authorityProblem(ctx, c)...)
	return "", errors.New(strings.Join(append([]string{err.Error()}, faults...), "; "))
}

// authorityProblem returns the reason why the control plane does not start with the authority that it finds, if any.
func authorityProblem(ctx context.Context, c *Cluster) []string {
	var record corev1.ConfigMap
	key := client.ObjectKey{Namespace: c.Namespace, Name: identity.RecordConfigMap}
	if err := c.Client.Get(ctx, key, &record); err != nil {
		return nil // the Deployment says enough
	}
	if problem := record.Annotations[identity.ProblemAnnotation(identity.CASecret)]; problem != "" {
		return []string{problem}
	}
	return nil
}

// deploymentReady counts replicas that are ready and of the current template only.
func deploymentReady(d *appsv1.Deployment) (string, error) {
	want, image := rollout.Replicas(d), d.Spec.Template.Spec.Containers[0].Image
	if want == 0 {
		return "", fmt.Errorf("Deployment %s is scaled to 0 replicas", d.Name)
	}
	if !rollout.Complete(d) {
		return "", fmt.Errorf("%d of %d replicas are ready with image %s", rollout.Ready(d), want, image)
	}
	return fmt.Sprintf("%d of %d replicas, image %s", want, want, image), nil
}

// bundles returns the caBundle of each webhook by name.
func bundles(ctx context.Context, c *Cluster) (map[string][]byte, error) {
	var mutating admissionregistrationv1.MutatingWebhookConfiguration
	var validating admissionregistrationv1.ValidatingWebhookConfiguration
	if err := c.Client.Get(ctx, client.ObjectKey{Name: resourceName}, &mutating); err != nil {
		return nil, fmt.Errorf("MutatingWebhookConfiguration %s: %w", resourceName, err)
	}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: resourceName}, &validating); err != nil {
		return nil, fmt.Errorf("ValidatingWebhookConfiguration %s: %w", resourceName, err)
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

// webhookCA returns the authority of the control plane, which is the caBundle of its webhooks. This needs no permission
// to read Secrets.
func webhookCA(ctx context.Context, c *Cluster) ([]byte, error) {
	all, err := bundles(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, bundle := range all {
		if len(bundle) > 0 {
			return bundle, nil
		}
	}
	return nil, errors.New("the control plane has not published a CA certificate yet")
}

// authority is webhookCA, decoded.
func authority(ctx context.Context, c *Cluster) (*identity.Bundle, error) {
	text, err := webhookCA(ctx, c)
	if err != nil {
		return nil, err
	}
	return identity.ParseBundle(text)
}

func certificates(ctx context.Context, c *Cluster) (string, error) {
	text, err := webhookCA(ctx, c)
	if err != nil {
		return "", err
	}
	return bundleValidity(text, c.Now)
}

// bundleValidity returns the expiry of the first CA certificate to expire, or an error if one is not valid now.
func bundleValidity(bundle []byte, now time.Time) (string, error) {
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
			return "", fmt.Errorf("%s is valid from %s to %s", name, certificate.NotBefore.Format(time.RFC3339),
				certificate.NotAfter.Format(time.RFC3339))
		}
		if first.IsZero() || certificate.NotAfter.Before(first) {
			first = certificate.NotAfter
		}
	}
	if first.IsZero() {
		return "", errors.New("caBundle contains no certificate")
	}
	if left := first.Sub(now); left < expiryWarning {
		return "", warn("the CA certificate expires in %d days", int(left.Hours()/24))
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

// webhooks creates an object of each dialect as a dry run, and checks that the webhooks have set its defaults.
func webhooks(ctx context.Context, c *Cluster) (string, error) {
	begin := time.Now()
	for _, d := range dialect.Implementing[dialect.Admission](c.Dialects) {
		object, check := d.AdmissionTrial("anymesh-check-" + strings.ToLower(rand.Text()[:8]))
		if err := c.Client.Create(ctx, object, client.DryRunAll); err != nil {
			if apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "admission webhook") {
				return "", warn("missing permission to create a test object: %v", err)
			}
			return "", err
		}
		if err := check(); err != nil {
			return "", fmt.Errorf("test object of %s: %w", d.Title(), err)
		}
	}
	return "within " + time.Since(begin).Round(time.Millisecond).String(), nil
}
