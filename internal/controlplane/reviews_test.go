package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"anymesh.dev/anymesh/test/freeport"
)

// reviewer sends reviews from an address.
func reviewer(t *testing.T, from string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Minute}
	transport := &http.Transport{
		DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: time.Minute,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the test checks no identity
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// createPod sends the review of a new pod, and returns whether the pod gets a sidecar.
func createPod(client *http.Client, address, app string) (injected bool, err error) {
	pod := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "x-", "labels": {"app": %q}},
		"spec": {"containers": [{"name": "app", "image": "app:1"}]}}`, app)
	body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "namespace": "a", "operation": "CREATE", "object": ` + pod + `}}`
	response, err := client.Post("https://"+address+"/mutate-v1-pod", "application/json", strings.NewReader(body))
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		return false, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text.Bytes(), &review); err != nil || review.Response == nil {
		return false, fmt.Errorf("status %d: %s", response.StatusCode, text.String())
	}
	if !review.Response.Allowed {
		return false, fmt.Errorf("denied: %s", review.Response.Result.Message)
	}
	return len(review.Response.Patch) > 0, nil
}

// startWebhooks starts a replica for which 127.0.0.9 is the API server, and returns its webhooks' address.
func startWebhooks(t *testing.T) (r *replica, k *kubeAPI, process *apiProcess, address string) {
	return startWebhooksWith(t, func(*controlPlane) {})
}

// startWebhooksWith is startWebhooks with a change of the replica.
func startWebhooksWith(t *testing.T, change func(*controlPlane)) (
	r *replica, k *kubeAPI, process *apiProcess, address string,
) {
	k = newPopulatedAPI(t, "front")
	k.applyObject(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{"appmesh.k8s.aws/sidecarInjectorWebhook": "enabled"},
	}})
	k.applyObject(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: apiServerNamespace, Name: apiServerName},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.9"}}},
	})
	process = newAPIProcess(t, k)
	process.run()
	address = freeport.Address(t)
	r = startReplicaWith(t, "a", process.address, func(cp *controlPlane) {
		cp.WebhookAddress = address
		change(cp)
		cp.apiServers.node = func(netip.Addr) bool { return false } // all addresses of this test are loopback
	})
	r.expectReady()
	r.eventually("the addresses of the API server are known", func() bool {
		return r.apiServers.Has(netip.MustParseAddr("127.0.0.9"))
	})
	return r, k, process, address
}

// 2400 concurrent reviews from one address: pods that the API server asks about get their sidecars, and no review
// causes a request to the API server.
func TestPodsAreCreatedDuringFloodOfReviews(t *testing.T) {
	_, _, process, address := startWebhooks(t)
	var requests atomic.Int32
	var last atomic.Value // URL of one of them
	process.inject(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || r.URL.Query().Has("watch") {
			return false // a status that is written, or a watch that begins again, is no effect of a review
		}
		if p := r.URL.Path; strings.Contains(p, "virtualnodes") || strings.HasSuffix(p, "/meshes") || strings.HasSuffix(p, "/namespaces/a") {
			requests.Add(1)
			last.Store(r.URL.String())
		}
		return false
	})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var answered, refused atomic.Int32
	clients := 2400
	if raceDetector {
		clients = 400
	}
	for i := range clients {
		if i%100 == 0 { // 100 requests for each client
			client := reviewer(t, "127.0.0.2")
			for range 100 {
				all.Go(func() {
					for ctx.Err() == nil {
						if _, err := createPod(client, address, "none"); err != nil && strings.Contains(err.Error(), "denied") {
							answered.Add(1)
						} else {
							refused.Add(1)
						}
						select { // the attack has the processors of this test
						case <-ctx.Done():
						case <-time.After(500 * time.Millisecond):
						}
					}
				})
			}
		}
	}
	server := reviewer(t, "127.0.0.9")
	var slowest time.Duration
	for range 20 {
		sent := time.Now()
		if injected, err := createPod(server, address, "front"); err != nil || !injected {
			t.Fatalf("a pod of the API server: injected %v, error %v", injected, err)
		}
		slowest = max(slowest, time.Since(sent))
	}
	stop()
	all.Wait()
	t.Logf("slowest review of the API server %s; reviews of others: %d answered, %d refused", slowest, answered.Load(), refused.Load())
	if refused.Load() == 0 {
		t.Error("no review of others was refused: this is no flood")
	}
	if got := requests.Load(); got != 0 {
		t.Errorf("the reviews caused %d requests to the API server, as %v", got, last.Load())
	}
}

// A pod that is created with its VirtualNode waits for it.
func TestPodWaitsForItsWorkload(t *testing.T) {
	_, k, _, address := startWebhooks(t)
	path, late := k.pathOf(t, workload("late"))
	time.AfterFunc(300*time.Millisecond, func() { k.apply(path, late) })
	if injected, err := createPod(reviewer(t, "127.0.0.9"), address, "late"); err != nil || !injected {
		t.Errorf("injected %v, error %v", injected, err)
	}
}

// The addresses of the API servers follow the EndpointSlice.
func TestAddressesOfAPIServers(t *testing.T) {
	r, k, _, _ := startWebhooks(t)
	k.applyObject(t, &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: apiServerNamespace, Name: apiServerName},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.8"}}, {Addresses: []string{"fd00::8"}}},
	})
	r.eventually("the addresses change", func() bool {
		has := func(a string) bool { return r.apiServers.Has(netip.MustParseAddr(a)) }
		return has("127.0.0.8") && has("fd00::8") && !has("127.0.0.9")
	})
}

func TestParseRanges(t *testing.T) {
	got, err := ParseRanges([]string{"10.1.2.3", "10.2.3.4/16", " fd00::1"})
	if err != nil || fmt.Sprint(got) != "[10.1.2.3/32 10.2.0.0/16 fd00::1/128]" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := ParseRanges([]string{"api.example"}); err == nil {
		t.Error("a host name is accepted")
	}
	a := apiServers{ranges: got, node: func(a netip.Addr) bool { return a.IsLoopback() }}
	for address, want := range map[string]bool{"10.2.255.1": true, "10.1.2.4": false, "127.0.0.1": true} {
		if a.Has(netip.MustParseAddr(address)) != want {
			t.Errorf("%s: want %v", address, want)
		}
	}
}
