package controlplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
	"anymesh.dev/anymesh/test/freeport"
)

// poller is a driver that answers requests of its sidecars itself: with their workload.
type poller struct {
	started chan *sidecar.ControllerContext
}

func (poller) Patch(context.Context) error { return nil }

func (poller) Supports() map[model.Feature]bool {
	return map[model.Feature]bool{"listener.tcp": true, "destination.tcp": true, "discovery.dns": true}
}

func (p poller) Start(ctx context.Context) (sidecar.Probes, error) {
	c := ctx.Value(&sidecar.ControllerCtxKey).(*sidecar.ControllerContext)
	listener, err := c.CertManager.Listen(ctx)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key, err := c.CertManager.Authorize(r.Context(), r.TLS.PeerCertificates[0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, key.String())
	})}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	p.started <- c
	return sidecar.HealthProbes{}, nil
}

var polling = poller{make(chan *sidecar.ControllerContext, 1)}

func init() { sidecar.Register("poller", polling) }

// certificateOf returns the TLS configuration of the sidecar of a pod.
func certificateOf(t *testing.T, ca *identity.CA, pod string) *tls.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := ca.Sign(identity.EncodeRequest(request),
		identity.Claims{Namespace: "a", ServiceAccount: "default", Pod: pod, PodUID: "uid-" + pod}, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(issued.CertificatePEM)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{block.Bytes}, PrivateKey: key}},
		RootCAs:      ca.Bundle().Pool(), ServerName: "anymesh.anymesh-system.svc.cluster.local",
	}
}

func podOf(app, class string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Name: app, UID: types.UID("uid-" + app), Labels: map[string]string{"app": app},
		Annotations: map[string]string{sidecar.ClassAnnotation: class},
	}}
}

// guarded is the workload front, which requires TLS on port 80 and for back. more are further listeners.
func guarded(t *testing.T, more string) *api.VirtualNode {
	t.Helper()
	return decode[*api.VirtualNode](t, `
metadata: {name: front, namespace: a}
spec:
  podSelector: {matchLabels: {app: front}}
  listeners:
    - portMapping: {port: 80, protocol: tcp}
      tls: {mode: STRICT, certificate: {file: {certificateChain: /tls/tls.crt, privateKey: /tls/tls.key}}}
    - portMapping: {port: 81, protocol: tcp}`+more+`
  backends:
    - virtualService:
        virtualServiceRef: {name: back}
        clientPolicy: {tls: {validation: {trust: {file: {certificateChain: /tls/ca.crt}}}}}
`)
}

func decode[T any](t *testing.T, text string) (out T) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// A driver that delivers configuration itself has a server, protected views, changes, findings and host names.
func TestDriverThatDeliversItself(t *testing.T) {
	k := newPopulatedAPI(t)
	k.applyObject(t, guarded(t, ""))
	k.applyObject(t, decode[*api.VirtualNode](t, `
metadata: {name: back, namespace: a}
spec:
  podSelector: {matchLabels: {app: back}}
  listeners: [{portMapping: {port: 90, protocol: tcp}}]
  serviceDiscovery: {dns: {hostname: back.example}}
`))
	k.applyObject(t, decode[*api.VirtualService](t, `
metadata: {name: back, namespace: a}
spec: {provider: {virtualNode: {virtualNodeRef: {name: back}}}}
`))
	k.applyObject(t, podOf("front", "poller"))
	k.applyObject(t, podOf("back", "envoy"))
	process := newAPIProcess(t, k)
	process.run()
	_, port, err := net.SplitHostPort(freeport.Address(t))
	if err != nil {
		t.Fatal(err)
	}
	r := startReplicaWith(t, "a", process.address, func(cp *controlPlane) { cp.addDriver(t, "poller", port) })
	c := <-polling.started
	changes := c.MsgBroker.Subscribe()
	if first, err := changes.Next(t.Context()); err != nil || !first.All {
		t.Errorf("first changes %+v, error %v", first, err)
	}
	r.expectReady()
	front, destination := model.Key{Mesh: "m", Name: "front_a"}, model.Key{Mesh: "m", Name: "back_a_tcp_90"}

	t.Run("server", func(t *testing.T) {
		ask := func(config *tls.Config) (string, error) {
			client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
			response, err := client.Get("https://127.0.0.1:" + port)
			if err != nil {
				return "", err
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			return string(text), err
		}
		ca := r.ca.Current()
		if got, err := ask(certificateOf(t, ca, "front")); err != nil || got != "m/front_a" {
			t.Errorf("sidecar of the driver: %q, %v", got, err)
		}
		if got, err := ask(certificateOf(t, ca, "back")); err != nil || !strings.Contains(got, `"envoy", but this is the server of driver poller`) {
			t.Errorf("sidecar of another driver: %q, %v", got, err)
		}
		none := certificateOf(t, ca, "front")
		none.Certificates = nil
		if got, err := ask(none); err == nil {
			t.Errorf("no certificate: got %q", got)
		}
	})
	t.Run("protection", func(t *testing.T) {
		view, ok := c.MeshCatalog.View(front)
		if !ok || len(view.Inbound) != 1 || view.Inbound[0].Listener.Port != 81 {
			t.Errorf("got view %+v, %v", view, ok)
		}
		to, ok := c.MeshCatalog.ResolvedDestination(front, destination)
		if !ok || to.Destination.Discovery.Hostname != "" || len(to.Endpoints) != 0 {
			t.Errorf("got destination %+v, %v", to, ok)
		}
		if to, ok := c.MeshCatalog.ResolvedDestination(model.Key{Mesh: "m", Name: "back_a"}, destination); ok {
			t.Errorf("got destination %+v of a workload without backends", to)
		}
		if got := c.MeshCatalog.Workloads(); !slices.Equal(got, []model.Key{front}) {
			t.Errorf("got workloads %v", got)
		}
		// Without protection, there is a destination.
		if to, ok := r.engine.ResolvedDestination(destination); !ok || to.Destination.Discovery.Hostname == "" {
			t.Errorf("the engine has %+v, %v", to, ok)
		}
	})
	t.Run("findings", func(t *testing.T) {
		for _, text := range []string{"the listener on port 80 requires TLS", "requires TLS, and requests get status 503"} {
			if !slices.ContainsFunc(r.runtimeFindings(), func(f model.Finding) bool {
				return f.Severity == model.Error && strings.Contains(f.Text, text) && strings.Contains(f.Text, "driver poller")
			}) {
				t.Errorf("no finding %q in %v", text, r.runtimeFindings())
			}
		}
	})
	t.Run("changes", func(t *testing.T) {
		k.applyObject(t, guarded(t, "\n    - portMapping: {port: 82, protocol: tcp}"))
		k.applyObject(t, workload("other")) // of another driver
		for {
			got, err := changes.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(got.Workloads, func(key model.Key) bool { return key != front }) || got.All {
				t.Errorf("got changes %+v, want only those of front", got)
			}
			if view, _ := c.MeshCatalog.View(front); len(view.Inbound) == 2 {
				return
			}
		}
	})
	t.Run("names", func(t *testing.T) { agentGetsNames(t, r) })
}

// addDriver adds an entry of a driver to the mesh configuration.
func (cp *controlPlane) addDriver(t *testing.T, name, port string) {
	t.Helper()
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	cp.NamesAddress = freeport.Address(t)
	cp.Mesh.Sidecar.SidecarDrivers = append(cp.Mesh.Sidecar.SidecarDrivers,
		sidecar.DriverSettings{SidecarName: name, ProxyServerPort: uint32(number)})
	if cp.drivers, err = newDrivers(cp.Mesh, cp.Log, func() { cp.writer.Wake() }); err != nil {
		t.Fatal(err)
	}
}

// agentGetsNames opens the stream of an agent, as injection configures it.
func agentGetsNames(t *testing.T, r *replica) {
	port, err := r.namesPort("poller")
	if _, want, _ := net.SplitHostPort(r.NamesAddress); err != nil || want != strconv.FormatUint(uint64(port), 10) {
		t.Fatalf("port of names %d, error %v, want %s", port, err, want)
	}
	if port, err := r.namesPort("envoy"); err != nil || port != r.drivers[0].port() {
		t.Errorf("port of names of the other driver %d, error %v", port, err)
	}
	open := func(pod string) (*discoveryv3.DeltaDiscoveryResponse, error) {
		conn, err := grpc.NewClient("127.0.0.1:"+strconv.FormatUint(uint64(port), 10), grpc.WithTransportCredentials(
			credentials.NewTLS(certificateOf(t, r.ca.Current(), pod))))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(&discoveryv3.DeltaDiscoveryRequest{
			Node: &corev3.Node{}, TypeUrl: sidecar.HostNameType, ResourceNamesSubscribe: []string{"*"},
		}); err != nil {
			t.Fatal(err)
		}
		return s.Recv()
	}
	response, err := open("front")
	if err != nil {
		t.Fatal(err)
	}
	if all := response.GetResources(); len(all) != 1 || all[0].GetName() != "back.a" {
		t.Errorf("got names %v", response)
	}
	if clients := r.clients(); len(clients) != 1 || clients[0].Driver != "poller" || !clients[0].NamesOnly {
		t.Errorf("got clients %+v", clients)
	}
	if _, err := open("back"); err == nil || !strings.Contains(err.Error(), "use port") {
		t.Errorf("agent of another driver: error %v", err)
	}
}
