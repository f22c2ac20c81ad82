package check

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
)

// TestMountedSecrets names the Secrets that pods of a VirtualGateway mount, by the ARN of the certificate or as files
// of the user, if they are missing or broken. A pod that waits for a Secret has no address.
func TestMountedSecrets(t *testing.T) {
	const arn = "arn:aws:acm:eu-west-1:1:certificate/edge"
	listener := func(port api.PortNumber, c api.ListenerTLSCertificate) api.VirtualGatewayListener {
		return api.VirtualGatewayListener{
			PortMapping: api.GatewayPortMapping{Port: port, Protocol: "http"},
			TLS:         &api.VirtualGatewayListenerTLS{Mode: api.TLSStrict, Certificate: c},
		}
	}
	labels := map[string]string{"app": "edge"}
	all := &metav1.LabelSelector{}
	mesh := &api.Mesh{ObjectMeta: metav1.ObjectMeta{Name: "m"}, Spec: api.MeshSpec{NamespaceSelector: all}}
	edge := &api.VirtualGateway{ObjectMeta: metav1.ObjectMeta{Name: "edge", Namespace: "a"}, Spec: api.VirtualGatewaySpec{
		NamespaceSelector: all, PodSelector: &metav1.LabelSelector{MatchLabels: labels},
		Listeners: []api.VirtualGatewayListener{
			listener(443, api.ListenerTLSCertificate{ACM: &api.ListenerTLSACMCertificate{CertificateARN: arn}}),
			listener(444, api.ListenerTLSCertificate{File: &api.TLSFileCertificate{
				CertificateChain: "/own/chain.pem", PrivateKey: "/own/key.pem",
			}}),
			listener(445, api.ListenerTLSCertificate{File: &api.TLSFileCertificate{
				CertificateChain: "/image/tls.crt", PrivateKey: "/image/tls.key",
			}}),
		},
	}}
	objects := []client.Object{mesh, edge, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}
	for _, name := range []string{"one", "two"} {
		proxy := agent()
		proxy.VolumeMounts = []corev1.VolumeMount{
			{Name: "acm", MountPath: "/var/run/secrets/appmesh.k8s.aws/edge-acm"}, {Name: "own", MountPath: "/own/"},
		}
		volume := func(name, secret string) corev1.Volume {
			return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: secret},
			}}
		}
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "a", UID: types.UID(name), Labels: labels},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{proxy},
				Volumes:    []corev1.Volume{volume("acm", "edge-acm"), volume("own", "edge-own")},
			},
			Status: corev1.PodStatus{Phase: corev1.PodPending},
		})
	}
	d := appmesh.Dialect{Settings: appmesh.Settings{ACM: appmesh.ACM{Certificates: map[string]string{arn: "edge-acm"}}}}
	s := engine.Compute([]dialect.Dialect{d}, engine.Settings{}, objects)
	one, other := keyPair(t), keyPair(t)
	secret := func(name string, data map[string][]byte) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name}, Data: data}
	}
	own := func(key []byte) *corev1.Secret {
		return secret("edge-own", map[string][]byte{"chain.pem": one["tls.crt"], "key.pem": key})
	}
	const byARN, byFile = "Secret a/edge-acm, which pods of VirtualGateway a/edge mount for all hosts, ",
		"Secret a/edge-own, which pods of VirtualGateway a/edge mount for all hosts, "
	const mismatch = "has no valid certificate: tls: private key does not match public key"
	for name, c := range map[string]struct {
		acm, own *corev1.Secret
		want     string
	}{
		"valid":   {secret("edge-acm", one), own(one["tls.key"]), ""},
		"missing": {nil, own(one["tls.key"]), byARN + "does not exist"},
		"empty":   {secret("edge-acm", nil), own(nil), byARN + "has no tls.crt; " + byFile + "has no key.pem"},
		"broken": {
			secret("edge-acm", map[string][]byte{"tls.crt": other["tls.crt"], "tls.key": one["tls.key"]}), own(other["tls.key"]),
			byARN + mismatch + "; " + byFile + mismatch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset(c.own)
			if c.acm != nil {
				kube = fake.NewClientset(c.own, c.acm)
			}
			cluster := &Cluster{Kube: kube, State: func(context.Context) (*engine.State, error) { return s, nil }}
			remark, err := gatewaySecrets(t.Context(), cluster)
			if c.want == "" {
				if err != nil || remark != "2 certificates" {
					t.Errorf("got %q, %v", remark, err)
				}
			} else if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}
