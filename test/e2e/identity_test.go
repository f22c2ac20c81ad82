package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	grpcstatus "google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

const controlPlaneName = "anymesh.anymesh-system.svc.cluster.local"

// forward forwards a port of the control plane like kubectl port-forward.
func forward(t *testing.T, port int) string {
	t.Helper()
	pod := strings.TrimSpace(run(t, "-n", "anymesh-system", "get", "pods", "-l", "app.kubernetes.io/name=anymesh", "-o",
		"jsonpath={.items[0].metadata.name}"))
	upgrade, upgrader, err := spdy.RoundTripperFor(lab.config)
	if err != nil {
		t.Fatal(err)
	}
	u := lab.kube.CoreV1().RESTClient().Post().
		Namespace("anymesh-system").Resource("pods").Name(pod).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: upgrade}, http.MethodPost, u)
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)},
		stop, ready, io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() { failed <- forwarder.ForwardPorts() }()
	t.Cleanup(func() { close(stop) })
	select {
	case <-ready:
	case err := <-failed:
		t.Fatal(err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0].Local)
}

// token requests a service account token of a pod, as kubelet does.
func token(t *testing.T, pod *corev1.Pod, audience string) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{audience},
		BoundObjectRef: &authenticationv1.BoundObjectReference{
			Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID,
		},
	}}
	answer, err := lab.kube.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(),
		pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

func roots(t *testing.T) *x509.CertPool {
	t.Helper()
	secret, err := lab.kube.CoreV1().Secrets("anymesh-system").Get(t.Context(), "anymesh-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(secret.Data["tls.crt"]) {
		t.Fatal("no certificate in secret anymesh-ca")
	}
	return pool
}

// sign exchanges a token for a certificate and returns the HTTP status.
func sign(t *testing.T, address, bearer string) (tls.Certificate, int) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/v1/certificates", bytes.NewReader(csr))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+bearer)
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots(t), ServerName: controlPlaneName}},
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Certificate string }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	certificate := tls.Certificate{PrivateKey: key}
	for rest := []byte(answer.Certificate); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return certificate, response.StatusCode
		}
		certificate.Certificate = append(certificate.Certificate, block.Bytes)
	}
}

// discover requests listeners with a node ID and returns their number.
func discover(t *testing.T, address string, certificates []tls.Certificate, node string) (int, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	creds := credentials.NewTLS(&tls.Config{
		RootCAs: roots(t), ServerName: controlPlaneName, Certificates: certificates,
	})
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return 0, err
	}
	err = stream.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{Id: node}, TypeUrl: "type.googleapis.com/envoy.config.listener.v3.Listener",
	})
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	response, err := stream.Recv()
	return len(response.GetResources()), err
}

// TestDeletedAuthorityIsWrittenAgain deletes the Secret of the authority while the control plane runs.
func TestDeletedAuthorityIsWrittenAgain(t *testing.T) {
	secrets := lab.kube.CoreV1().Secrets("anymesh-system")
	before, err := secrets.Get(t.Context(), "anymesh-ca", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := secrets.Delete(t.Context(), before.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, 20*time.Second, "the Secret is written again, with an event", func() error {
		after, err := secrets.Get(t.Context(), "anymesh-ca", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if after.UID == before.UID || !bytes.Equal(after.Data["tls.key"], before.Data["tls.key"]) {
			return fmt.Errorf("Secret with UID %s has another key, or is the deleted one", after.UID)
		}
		events := run(t, "-n", "anymesh-system", "get", "events", "-o", "jsonpath={.items[*].reason}")
		if !strings.Contains(events, "AuthorityRestored") {
			return fmt.Errorf("events: %s", events)
		}
		return nil
	})
}

// TestIdentityComesFromTheCertificate checks that requests with the node ID of another pod, or without a certificate,
// get no resources.
func TestIdentityComesFromTheCertificate(t *testing.T) {
	front := podOf(t, "colors", "app=front")
	signing, xds := forward(t, 15010), forward(t, 15128)
	certificate, code := sign(t, signing, token(t, &front, "anymesh"))
	if code != http.StatusOK {
		t.Fatalf("signing: status %d", code)
	}
	own := []tls.Certificate{certificate}

	if n, err := discover(t, xds, own, "mesh/colors/virtualNode/front_colors"); err != nil || n != 2 {
		t.Errorf("front with its own node ID: %d listeners, %v; want 2", n, err)
	}
	n, err := discover(t, xds, own, "mesh/colors/virtualNode/tally_colors")
	if grpcstatus.Code(err) != codes.PermissionDenied || n != 0 {
		t.Errorf("front with the node ID of tally: %d listeners, %v; want PermissionDenied", n, err)
	}
	if n, err := discover(t, xds, nil, "mesh/colors/virtualNode/front_colors"); err == nil {
		t.Errorf("without a certificate: %d listeners", n)
	}

	for name, bearer := range map[string]string{
		"a token for the API server": token(t, &front, "https://kubernetes.default.svc"),
		"foreign token":              "eyJhbGciOiJub25lIn0.e30.",
	} {
		t.Run(name, func(t *testing.T) {
			if _, code := sign(t, signing, bearer); code != http.StatusUnauthorized {
				t.Errorf("signing: status %d, want 401", code)
			}
		})
	}
}

// TestSameServiceAccountDifferentWorkload checks that a pod gets only the configuration of its own workload, even if
// another workload uses the same service account.
func TestSameServiceAccountDifferentWorkload(t *testing.T) {
	tally := podOf(t, "colors", "app=tally")
	certificate, code := sign(t, forward(t, 15010), token(t, &tally, "anymesh"))
	if code != http.StatusOK {
		t.Fatalf("signing: status %d", code)
	}
	_, err := discover(t, forward(t, 15128), []tls.Certificate{certificate}, "mesh/colors/virtualNode/front_colors")
	if grpcstatus.Code(err) != codes.PermissionDenied {
		t.Errorf("tally with the node ID of front, which has the same service account: %v; want PermissionDenied", err)
	}
}
