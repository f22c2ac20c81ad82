package check

import (
	"context"
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// gatewaySecrets checks the Secrets with the certificates of gateways. Their private keys stay in this process.
func gatewaySecrets(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	named := secretsOfGateways(s)
	var texts []string
	for _, one := range named {
		namespace, name, _ := strings.Cut(one.Certificate.Secret.Name, "/")
		secret, err := c.Kube.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
		var fault string
		switch {
		case apierrors.IsNotFound(err):
			fault = "does not exist"
		case apierrors.IsForbidden(err):
			return "", warn("Secret %s/%s must not be read by you: %v", namespace, name, err)
		case err != nil:
			return "", fmt.Errorf("Secret %s/%s: %w", namespace, name, err)
		default:
			fault = certificateFault(secret)
		}
		if fault != "" {
			texts = append(texts, fmt.Sprintf("Secret %s/%s, which %s names for %s, %s", namespace, name,
				dialect.KindNamesOfObjects(s.Objects).Object(one.Origin.Object()), strings.Join(one.Hosts, ", "), fault))
		}
	}
	if len(texts) > 0 {
		return "", warn("%s", strings.Join(texts, "; "))
	}
	return terminal.Count(len(named), "certificate", "certificates"), nil
}

// secretsOfGateways returns the certificates of gateways that are in Secrets.
func secretsOfGateways(s *engine.State) []model.HostCertificate {
	var out []model.HostCertificate
	for _, w := range s.Index.Model.Workloads {
		if w.Role != model.RoleGateway {
			continue
		}
		for _, l := range w.Listeners {
			if l.TLS == nil {
				continue
			}
			all := slices.Clone(l.TLS.Hosts)
			if c := l.TLS.Certificate; c != nil {
				all = append(all, model.HostCertificate{Hosts: []string{"all hosts"}, Certificate: *c, Origin: l.Origin})
			}
			out = append(out, slices.DeleteFunc(all, func(h model.HostCertificate) bool {
				return h.Certificate.Secret.Provider != model.ProviderKubernetes
			})...)
		}
	}
	return out
}

// certificateFault returns why a Secret is no certificate with its key; empty if it is one.
func certificateFault(secret *corev1.Secret) string {
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			return "has no " + key
		}
	}
	if _, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return "has no valid certificate: " + err.Error()
	}
	return ""
}
