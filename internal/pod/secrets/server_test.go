package secrets_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	secretv3 "github.com/envoyproxy/go-control-plane/envoy/service/secret/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/pod/secrets"
)

// api is the part of an API server that lists and watches the Secret a/web.
type api struct {
	mu      sync.Mutex
	version int
	secret  *corev1.Secret
	changed chan struct{} // closed at the next change
	watches int
	events  []corev1.Event
}

func (a *api) set(data map[string][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.version++
	a.secret = &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", ResourceVersion: strconv.Itoa(a.version)}, Data: data,
	}
	close(a.changed)
	a.changed = make(chan struct{})
}

func (a *api) open() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.watches
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	if r.URL.Path == "/api/v1/namespaces/a/events" && r.Method == http.MethodPost {
		var event corev1.Event
		if err := json.NewDecoder(r.Body).Decode(&event); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		a.mu.Lock()
		a.events = append(a.events, event)
		a.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(event)
		return
	}
	if r.URL.Path != "/api/v1/namespaces/a/secrets" || query.Get("fieldSelector") != "metadata.name=web" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	a.mu.Lock()
	secret, version := a.secret, a.version
	a.mu.Unlock()
	if query.Get("watch") == "" {
		list := corev1.SecretList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"},
			ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version)},
		}
		if secret != nil {
			list.Items = append(list.Items, *secret)
		}
		_ = json.NewEncoder(w).Encode(list)
		return
	}
	if query.Get("sendInitialEvents") == "true" { // the client lists instead
		w.WriteHeader(http.StatusUnprocessableEntity)
		_ = json.NewEncoder(w).Encode(metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		})
		return
	}
	sent, _ := strconv.Atoi(query.Get("resourceVersion"))
	a.watch(w, r, sent)
}

// watch sends each version after the one that the client has.
func (a *api) watch(w http.ResponseWriter, r *http.Request, sent int) {
	a.mu.Lock()
	a.watches++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.watches--
		a.mu.Unlock()
	}()
	for {
		a.mu.Lock()
		secret, version, changed := a.secret, a.version, a.changed
		a.mu.Unlock()
		if version > sent {
			kind := "MODIFIED"
			if sent == 0 {
				kind = "ADDED"
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"type": kind, "object": secret})
			sent = version
		}
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// certificate returns the data of a Secret with a new certificate.
func certificate(t *testing.T) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), DNSNames: []string{"web.example"},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}
}

// serve starts a server for a client of the API server.
func serve(t *testing.T, a *api) secretv3.SecretDiscoveryServiceClient {
	t.Helper()
	return serveWithLog(t, a, slog.New(slog.DiscardHandler))
}

func serveWithLog(t *testing.T, a *api, log *slog.Logger) secretv3.SecretDiscoveryServiceClient {
	t.Helper()
	server := httptest.NewServer(a)
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"},
	})
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- secrets.New(client, log).Serve(ctx, socket) }()
	conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
		server.Close()
	})
	return secretv3.NewSecretDiscoveryServiceClient(conn)
}

// A Secret is sent when it has a certificate, and again with each other certificate. Without followers, it is not
// watched.
func TestSecretsAreFollowed(t *testing.T) {
	a := &api{changed: make(chan struct{})}
	client := serve(t, a)
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := client.StreamSecrets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DiscoveryRequest{ResourceNames: []string{"kubernetes://a/web"}}); err != nil {
		t.Fatal(err)
	}
	first, second := certificate(t), certificate(t)
	a.set(map[string][]byte{"tls.crt": first["tls.crt"], "tls.key": second["tls.key"]}) // never sent
	for i, data := range []map[string][]byte{first, second} {
		a.set(data)
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		var secret tlsv3.Secret
		if err := response.Resources[0].UnmarshalTo(&secret); err != nil {
			t.Fatal(err)
		}
		got := secret.GetTlsCertificate()
		if secret.Name != "kubernetes://a/web" || string(got.CertificateChain.GetInlineBytes()) != string(data["tls.crt"]) ||
			string(got.PrivateKey.GetInlineBytes()) != string(data["tls.key"]) {
			t.Errorf("response %d is %s with another certificate", i, secret.Name)
		}
		a.set(data) // the same certificate is not sent again
	}
	cancel()
	for deadline := time.Now().Add(2 * time.Minute); a.open() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the Secret is still watched")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestNamesAreChecked(t *testing.T) {
	client := serve(t, &api{changed: make(chan struct{})})
	for _, names := range [][]string{
		nil, {"kubernetes://a/web", "kubernetes://a/b"}, {"a/web"}, {"kubernetes://a"}, {"kubernetes://a/"},
		{"kubernetes://a/b/c"},
	} {
		stream, err := client.StreamSecrets(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.Send(&discoveryv3.DiscoveryRequest{ResourceNames: names}); err != nil {
			t.Fatal(err)
		}
		if _, err := stream.Recv(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: got error %v, want InvalidArgument", strings.Join(names, ", "), err)
		}
	}
}
