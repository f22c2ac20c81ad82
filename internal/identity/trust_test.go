package identity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// confirmingMesh is the pods of a mesh, each with the replica that it has confirmed a bundle to, and the ID of that.
type confirmingMesh struct {
	mu        sync.Mutex
	pods      []string
	confirmed map[string]map[string]string // bundle by pod, by replica
}

// trust is CAStoreOptions.Trust of a replica.
func (m *confirmingMesh) trust(replica string) func(*Bundle) (Trust, bool) {
	return func(b *Bundle) (Trust, bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		out := Trust{Pods: slices.Clone(m.pods)}
		for _, pod := range slices.Sorted(maps.Keys(m.confirmed[replica])) {
			if m.confirmed[replica][pod] == b.id() {
				out.Trusting = append(out.Trusting, pod)
			}
		}
		return out, true
	}
}

func (m *confirmingMesh) confirm(replica, pod string, b *Bundle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.confirmed == nil {
		m.confirmed = map[string]map[string]string{}
	}
	if m.confirmed[replica] == nil {
		m.confirmed[replica] = map[string]string{}
	}
	m.confirmed[replica][pod] = b.id()
}

// newConfirming returns two replicas of a mesh with the given pods, while Publishing.
func newConfirming(t *testing.T, pods ...string) (server *fakeSecretAPI, clock *fakeClock, m *confirmingMesh,
	a, b *CAStore) {
	t.Helper()
	server, clock, m = &fakeSecretAPI{}, newFakeClock(), &confirmingMesh{pods: pods}
	open := func(name string) *CAStore {
		return server.open(t, CAStoreOptions{Lifetime: time.Hour, Replica: name, Trust: m.trust(name)}, clock.Now)
	}
	a, b = open("a"), open("b")
	server.requestRotation()
	syncAll(t, a, b)
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	return server, clock, m, a, b
}

// A new root signs as soon as all pods have confirmed it, each to any replica.
func TestNewRootSignsOnceAllPodsTrustIt(t *testing.T) {
	server, clock, m, a, b := newConfirming(t, "1", "2", "3")
	next := a.state.next.cert
	m.confirm("a", "1", a.Bundle())
	m.confirm("b", "2", a.Bundle())
	m.confirm("b", "3", testCA(t).Bundle()) // an older bundle
	for range 3 {
		clock.advance(trustSettle)
		syncAll(t, a, b)
	}
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	if n := b.Status().Unconfirmed; n == nil || *n != 1 {
		t.Errorf("%v pods have not confirmed the root, want 1", n)
	}
	m.confirm("b", "3", a.Bundle())
	if _, due := b.reportDue(); due {
		t.Error("a report is due although this replica knows all confirmations")
	}
	syncAll(t, b)
	checkStatus(t, b, Publishing, RoleSigning, RoleNext)
	clock.advance(trustSettle)
	syncAll(t, b, a)
	checkStatus(t, a, Retiring, RoleSigning, RolePrevious)
	if !a.Current().cert.Equal(next) {
		t.Error("another root signs")
	}
	if left := a.Status().Until.Sub(clock.Now()); left != phaseLength(time.Hour) {
		t.Errorf("the old root is trusted for %s", left)
	}
	syncAll(t, a, b)
	records := server.client().CoreV1().ConfigMaps(testNamespace)
	record, err := records.Get(t.Context(), RecordConfigMap, metav1.GetOptions{})
	if err != nil || strings.Contains(fmt.Sprint(record.Data), ".trusting.") {
		t.Errorf("reports are left in %v, %v", record.Data, err)
	}
}

// A pod that does not confirm the root, and a replica that does not know all pods, delay it to the end of its phase.
func TestUnconfirmedRootWaitsForItsPhase(t *testing.T) {
	_, clock, m, a, b := newConfirming(t, "1", "2")
	m.confirm("a", "1", a.Bundle())
	clock.advance(phaseLength(time.Hour) - time.Second)
	syncAll(t, a, b)
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	a.opts.Trust = func(*Bundle) (Trust, bool) { return Trust{}, false }
	syncAll(t, a)
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	clock.advance(2 * time.Second)
	syncAll(t, a, b)
	checkStatus(t, b, Retiring, RoleSigning, RolePrevious)
}

// A pod that appears before the new root signs has to confirm it, too.
func TestNewPodConfirmsRoot(t *testing.T) {
	_, clock, m, a, b := newConfirming(t, "1")
	m.confirm("a", "1", a.Bundle())
	syncAll(t, a, b)
	m.pods = append(m.pods, "2")
	syncAll(t, a, b)
	clock.advance(trustSettle)
	syncAll(t, a, b)
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	m.confirm("a", "2", a.Bundle())
	syncAll(t, a, b)
	checkStatus(t, a, Publishing, RoleSigning, RoleNext)
	clock.advance(trustSettle)
	syncAll(t, a, b)
	checkStatus(t, a, Retiring, RoleSigning, RolePrevious)
}
