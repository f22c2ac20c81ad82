package check

import (
	"context"
	"crypto/tls"
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/internal/cli/terminal"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/pod/inject"
	"anymesh.dev/anymesh/model"
)

// secretUse is a Secret with a certificate of a gateway.
type secretUse struct {
	namespace, name string
	chain, key      string // keys of its data
	by              string // who uses it, and for which hosts
}

// gatewaySecrets checks the Secrets with the certificates of gateways. Their private keys stay in this process.
func gatewaySecrets(ctx context.Context, c *Cluster) (string, error) {
	s, err := c.State(ctx)
	if err != nil {
		return "", err
	}
	used := secretsOfGateways(s)
	var texts []string
	for _, one := range used {
		secret, err := c.Kube.CoreV1().Secrets(one.namespace).Get(ctx, one.name, metav1.GetOptions{})
		var fault string
		switch {
		case apierrors.IsNotFound(err):
			fault = "does not exist"
		case apierrors.IsForbidden(err):
			return "", warn("Secret %s/%s must not be read by you: %v", one.namespace, one.name, err)
		case err != nil:
			return "", fmt.Errorf("Secret %s/%s: %w", one.namespace, one.name, err)
		default:
			fault = certificateFault(secret, one.chain, one.key)
		}
		if fault != "" {
			texts = append(texts, fmt.Sprintf("Secret %s/%s, which %s, %s", one.namespace, one.name, one.by, fault))
		}
	}
	if len(texts) > 0 {
		return "", warn("%s", strings.Join(texts, "; "))
	}
	return terminal.Count(len(used), "certificate", "certificates"), nil
}

// secretsOfGateways returns the certificates of gateways that are in Secrets: those that objects name, and those that
// the pods of a gateway mount as files.
func secretsOfGateways(s *engine.State) (out []secretUse) {
	kinds, pods := dialect.KindNamesOfObjects(s.Objects), gatewayPods(s)
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
			for _, one := range all {
				object, hosts := kinds.Object(one.Origin.Object()), strings.Join(one.Hosts, ", ")
				if one.Certificate.Secret.Provider == model.ProviderKubernetes {
					namespace, name, _ := strings.Cut(one.Certificate.Secret.Name, "/")
					out = append(out, secretUse{
						namespace, name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, object + " names for " + hosts,
					})
				}
				for _, pod := range pods[w.Key] {
					use, is := mountedSecret(pod, one.Certificate)
					use.by = "pods of " + object + " mount for " + hosts
					if is && !slices.Contains(out, use) {
						out = append(out, use)
					}
				}
			}
		}
	}
	return out
}

// gatewayPods returns the pods of gateways, those that wait for their volumes included.
func gatewayPods(s *engine.State) map[model.Key][]*corev1.Pod {
	out := map[model.Key][]*corev1.Pod{}
	for _, o := range s.Objects {
		pod, is := o.(*corev1.Pod)
		if !is || pod.DeletionTimestamp != nil {
			continue
		}
		if w, member := s.WorkloadOf(string(pod.UID)); member && w.Role == model.RoleGateway {
			out[w.Key] = append(out[w.Key], pod)
		}
	}
	return out
}

// mountedSecret returns the Secret that the proxy of a pod mounts the files of a certificate from.
func mountedSecret(pod *corev1.Pod, of model.Certificate) (out secretUse, is bool) {
	proxy := inject.Agent(pod)
	if proxy == nil || of.ChainFile == "" {
		return out, false
	}
	dir := path.Dir(of.ChainFile)
	for _, m := range proxy.VolumeMounts {
		if path.Clean(m.MountPath) != dir || m.SubPath != "" || path.Dir(of.KeyFile) != dir {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && v.Secret != nil && len(v.Secret.Items) == 0 {
				return secretUse{
					namespace: pod.Namespace, name: v.Secret.SecretName,
					chain: path.Base(of.ChainFile), key: path.Base(of.KeyFile),
				}, true
			}
		}
	}
	return out, false
}

// certificateFault returns why a Secret is no certificate with its key; empty if it is one.
func certificateFault(secret *corev1.Secret, chain, key string) string {
	for _, needed := range []string{chain, key} {
		if len(secret.Data[needed]) == 0 {
			return "has no " + needed
		}
	}
	if _, err := tls.X509KeyPair(secret.Data[chain], secret.Data[key]); err != nil {
		return "has no valid certificate: " + err.Error()
	}
	return ""
}
