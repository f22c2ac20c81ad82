package fleet

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	clusterv1 "anymesh.dev/anymesh/api/cluster/v1alpha1"
)

// apiServer answers the probes of a member cluster.
type apiServer struct {
	*httptest.Server
	mutex sync.Mutex
	// token is the valid one. uid is that of the namespace kube-system. hold delays each answer.
	token, uid string
	hold       time.Duration
}

func newAPIServer(t *testing.T, uid string) *apiServer {
	s := &apiServer{token: "t1", uid: uid}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	return s
}

func (s *apiServer) set(change func()) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	change()
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mutex.Lock()
	token, uid, hold := s.token, s.uid, s.hold
	s.mutex.Unlock()
	select {
	case <-time.After(hold):
	case <-r.Context().Done():
		return
	}
	var answer any
	switch {
	case r.Header.Get("Authorization") != "Bearer "+token:
		http.Error(w, "the token is not valid", http.StatusUnauthorized)
		return
	case r.URL.Path == "/version":
		answer = map[string]string{"gitVersion": "v1.36.3"}
	case r.URL.Path == "/api/v1/namespaces/kube-system":
		answer = map[string]any{"metadata": map[string]string{"name": "kube-system", "uid": uid}}
	case r.URL.Path == "/api/v1":
		answer = metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "pods", Kind: "Pod"}}}
	case r.URL.Path == "/apis/redirect/v1":
		http.Redirect(w, r, "https://elsewhere.example", http.StatusFound)
		return
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *apiServer) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

// join returns the objects of a member in the control plane.
func (s *apiServer) join(name string) []client.Object {
	ref := &clusterv1.LocalSecretReference{Namespace: SecretNamespace, Name: name}
	return []client.Object{
		&clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1},
			Spec:       clusterv1.ClusterSpec{SyncMode: clusterv1.Push, APIEndpoint: s.URL, SecretRef: ref, ImpersonatorSecretRef: ref},
		},
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: SecretNamespace, Name: name},
			Data:       map[string][]byte{clusterv1.SecretTokenKey: []byte("t1"), clusterv1.SecretCADataKey: s.ca()},
		},
	}
}

// controlPlane is a fleet whose control plane has objects.
type controlPlane struct {
	*Fleet
	t *testing.T
}

func newControlPlane(t *testing.T, objects ...client.Object) *controlPlane {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clusterv1.AddToScheme, corev1.AddToScheme, rbacv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&clusterv1.Cluster{}).Build()
	return &controlPlane{&Fleet{Kube: kube, OwnsStatus: true, Log: slog.New(slog.DiscardHandler)}, t}
}

func (c *controlPlane) refresh() []Member {
	c.t.Helper()
	var clusters clusterv1.ClusterList
	if err := c.Kube.List(c.t.Context(), &clusters); err != nil {
		c.t.Fatal(err)
	}
	return c.Refresh(c.t.Context(), clusters.Items, []string{"v1", "example.com/v1"})
}

// condition returns status, reason and message of the condition Ready.
func (c *controlPlane) condition(name string) string {
	c.t.Helper()
	var cluster clusterv1.Cluster
	if err := c.Kube.Get(c.t.Context(), client.ObjectKey{Name: name}, &cluster); err != nil {
		c.t.Fatal(err)
	}
	ready := meta.FindStatusCondition(cluster.Status.Conditions, clusterv1.ConditionReady)
	if ready == nil {
		return ""
	}
	return fmt.Sprint(ready.Status, " ", ready.Reason, " ", ready.Message)
}

func TestMembersHaveIdentityAndKinds(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	c := newControlPlane(t, s.join("c1")...)
	members := c.refresh()
	if len(members) != 1 || members[0].Identity != "uid-1" || !members[0].Ready || members[0].Impersonator == nil {
		t.Fatalf("%+v", members)
	}
	if r := members[0].Resources; len(r) != 1 || r["v1"].APIResources[0].Kind != "Pod" {
		t.Errorf("kinds %+v", r)
	}
	if got := c.condition("c1"); got != "True ClusterReady the API server answers" {
		t.Error(got)
	}
	again := c.refresh()
	if again[0].Reader != members[0].Reader {
		t.Error("the connection is a new one although nothing changed")
	}
}

// TestPullIsNotSupported says so, and does not ask for the Secret that such a Cluster has not.
func TestPullIsNotSupported(t *testing.T) {
	edge := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "edge"}, Spec: clusterv1.ClusterSpec{SyncMode: clusterv1.Pull}}
	c := newControlPlane(t, edge)
	if members := c.refresh(); len(members) > 0 || !strings.Contains(c.condition("edge"), "Pull is not supported") {
		t.Errorf("%+v %s", members, c.condition("edge"))
	}
}

// TestOneMemberDownDelaysNoOther guards the other clusters against one that does not answer.
func TestOneMemberDownDelaysNoOther(t *testing.T) {
	up, down := newAPIServer(t, "uid-1"), newAPIServer(t, "uid-2")
	c := newControlPlane(t, append(up.join("c1"), down.join("c2")...)...)
	if members := c.refresh(); len(members) != 2 {
		t.Fatalf("%+v", members)
	}
	down.Close()
	members := c.refresh()
	if len(members) != 2 || !members[0].Ready || members[1].Ready || members[1].Identity != "uid-2" ||
		members[1].Resources == nil {
		t.Errorf("%+v", members)
	}
	if got := c.condition("c2"); !strings.HasPrefix(got, "False ClusterNotReachable GET /version") {
		t.Error(got)
	}
	away := members[1]
	if members[0].Away != "" || !strings.HasPrefix(away.Away, "GET /version") || away.AwaySince.IsZero() {
		t.Errorf("away: %+v", members)
	}
	if again := c.refresh()[1]; !again.AwaySince.Equal(away.AwaySince) {
		t.Errorf("away since %v, then since %v", away.AwaySince, again.AwaySince)
	}
}

// TestHalfOpenMember guards against a probe that never ends.
func TestHalfOpenMember(t *testing.T) {
	up, held := newAPIServer(t, "uid-1"), newAPIServer(t, "uid-2")
	held.set(func() { held.hold = time.Hour })
	c := newControlPlane(t, append(up.join("c1"), held.join("c2")...)...)
	c.timeout = 500 * time.Millisecond
	began := time.Now()
	members := c.refresh()
	if took := time.Since(began); took > time.Minute || len(members) != 1 || !members[0].Ready {
		t.Errorf("after %v: %+v", took, members)
	}
}

// TestMemberThatWasNeverReachedIsKnown guards a process that starts while a cluster is away: to its clients the cluster
// must not have left.
func TestMemberThatWasNeverReachedIsKnown(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	objects := s.join("c1")
	objects[0].(*clusterv1.Cluster).Spec.ID = "uid-1"
	s.Close()
	members := newControlPlane(t, objects...).refresh()
	if len(members) != 1 || members[0].Ready || members[0].Identity != "uid-1" || members[0].Resources != nil {
		t.Errorf("%+v", members)
	}
}

// TestRotatedToken guards a member whose token changes.
func TestRotatedToken(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	c := newControlPlane(t, s.join("c1")...)
	before := c.refresh()
	s.set(func() { s.token = "t2" })
	members := c.refresh()
	if members[0].Ready || members[0].Away != "" || !strings.Contains(c.condition("c1"), "status 401") {
		t.Errorf("%+v %s", members, c.condition("c1"))
	}
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: SecretNamespace, Name: "c1"}
	if err := c.Kube.Get(t.Context(), key, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[clusterv1.SecretTokenKey] = []byte("t2")
	if err := c.Kube.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	if after := c.refresh(); !after[0].Ready || after[0].Reader == before[0].Reader {
		t.Errorf("%+v %s", after, c.condition("c1"))
	}
}

// TestRebuiltClusterHasAnotherIdentity guards against versions of the cluster that had the name before.
func TestRebuiltClusterHasAnotherIdentity(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	c := newControlPlane(t, s.join("c1")...)
	c.refresh()
	s.set(func() { s.uid = "uid-2" })
	if members := c.refresh(); members[0].Identity != "uid-2" {
		t.Errorf("%+v", members)
	}
	s.set(func() { s.uid = "" })
	if members := c.refresh(); members[0].Ready || members[0].Identity != "uid-2" {
		t.Errorf("a namespace without uid: %+v", members)
	}
}

func TestStatusOfAnotherControlPlaneIsNotWritten(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	c := newControlPlane(t, s.join("c1")...)
	c.OwnsStatus = false
	c.refresh()
	if got := c.condition("c1"); got != "" {
		t.Error(got)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	s := newAPIServer(t, "uid-1")
	members := newControlPlane(t, s.join("c1")...).refresh()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/apis/redirect/v1", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := members[0].Reader.Do(r)
	if err != nil || response.StatusCode != http.StatusFound {
		t.Fatal(response, err)
	}
	_ = response.Body.Close()
}
