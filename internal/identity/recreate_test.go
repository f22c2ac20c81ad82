package identity

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

func (s *fakeSecretAPI) deleteSecret() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secret = nil
}

// emptySecret replaces the Secret by that of the chart.
func (s *fakeSecretAPI) emptySecret() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store(&corev1.Secret{Type: corev1.SecretTypeOpaque, ObjectMeta: metav1.ObjectMeta{
		Namespace: testNamespace, Name: CASecret, Labels: map[string]string{managedLabel: "Helm"}}})
}

func (s *fakeSecretAPI) record(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	found, err := s.client().CoreV1().ConfigMaps(testNamespace).Get(t.Context(), RecordConfigMap, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// requestReplacement does what anymesh identity replace does.
func (s *fakeSecretAPI) requestReplacement(t *testing.T, value string) {
	t.Helper()
	found := s.record(t)
	if found.Annotations == nil {
		found.Annotations = map[string]string{}
	}
	found.Annotations[ReplaceAnnotation(CASecret)] = value
	if _, err := s.client().CoreV1().ConfigMaps(testNamespace).Update(t.Context(), found,
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reopen opens the CA as a replica that starts.
func (s *fakeSecretAPI) reopen(t *testing.T) (*CAStore, error) {
	t.Helper()
	return openCAStore(t.Context(), s.client(), CAStoreOptions{Namespace: testNamespace, TrustDomain: "cluster.local"},
		time.Now)
}

func TestDeletedSecretIsWrittenAgain(t *testing.T) {
	server, recorded := &fakeSecretAPI{}, events.NewFakeRecorder(10)
	a := server.open(t, CAStoreOptions{Recorder: recorded}, time.Now)
	b := server.open(t, CAStoreOptions{Recorder: recorded}, time.Now)
	server.edit(func(s *corev1.Secret) { s.Labels["team"] = "blue" })
	syncAll(t, a, b)
	first, before := a.Current().cert, server.secret.DeepCopy()
	server.deleteSecret()
	syncAll(t, a, b, a)
	if server.secret == nil {
		t.Fatal("the Secret was not written again")
	}
	if string(server.secret.Data["tls.key"]) != string(before.Data["tls.key"]) || server.secret.Labels["team"] != "blue" ||
		server.secret.Type != before.Type || !a.Current().cert.Equal(first) || !b.Current().cert.Equal(first) {
		t.Errorf("another Secret than the deleted one: %v", server.secret.ObjectMeta)
	}
	if len(recorded.Events) != 1 {
		t.Errorf("%d events, want one of the replica that wrote it", len(recorded.Events))
	}
}

// The first replica fills the Secret that the chart creates without data, and what the chart says about it stays. If it
// is emptied later, it is written again.
func TestSecretOfTheChart(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	server.emptySecret()
	a, b := server.open(t, CAStoreOptions{}, clock.Now), server.open(t, CAStoreOptions{}, clock.Now)
	check := func(what string) {
		t.Helper()
		s := server.secret
		if s.Labels[managedLabel] != "Helm" || s.Type != corev1.SecretTypeOpaque || !Managed(s) || !HasCA(s) {
			t.Errorf("%s: Secret %v, type %s", what, s.ObjectMeta, s.Type)
		}
		if !b.Current().cert.Equal(a.Current().cert) || !a.Status().Managed {
			t.Errorf("%s: the replicas do not use one managed CA", what)
		}
	}
	check("first start")
	first := a.Current().cert
	server.emptySecret()
	syncAll(t, a, b, a)
	check("written again")
	if !a.Current().cert.Equal(first) {
		t.Error("another CA than before")
	}
	clock.advance(RootLifetime + time.Hour)
	syncAll(t, a, b)
	check("replaced after it expired")
}

// A replica that starts does not make a new authority where sidecars trust another one. It says what to do.
func TestLostAuthorityIsAnError(t *testing.T) {
	server := &fakeSecretAPI{}
	first := server.open(t, CAStoreOptions{}, time.Now).Current().cert
	whole := server.secret.DeepCopy()
	for what, lose := range map[string]func(){
		"is missing":       server.deleteSecret,
		"is empty":         server.emptySecret,
		"has another root": func() { server.secret = (&fakeSecretAPI{}).otherSecret(t) },
	} {
		t.Run(what, func(t *testing.T) {
			lose()
			writes := server.writes
			_, err := server.reopen(t)
			if !errors.Is(err, ErrOtherAuthority) || !strings.Contains(err.Error(), what) ||
				!strings.Contains(err.Error(), fingerprint(first)[:16]) ||
				!strings.Contains(err.Error(), "anymesh identity replace") {
				t.Errorf("error %v", err)
			}
			if server.writes != writes {
				t.Error("the Secret was written")
			}
			if got := server.record(t).Annotations[ProblemAnnotation(CASecret)]; !strings.Contains(got, what) {
				t.Errorf("recorded problem %q", got)
			}
			server.secret = whole.DeepCopy()
			k, err := server.reopen(t)
			if err != nil || !k.Current().cert.Equal(first) {
				t.Fatalf("after the Secret was restored: %v", err)
			}
			if got := server.record(t).Annotations; len(got) != 0 {
				t.Errorf("left in the record: %v", got)
			}
		})
	}
	t.Run("replaced", func(t *testing.T) {
		server.deleteSecret()
		server.requestReplacement(t, "now")
		k, err := server.reopen(t)
		if err != nil || k.Current().cert.Equal(first) {
			t.Fatalf("no new authority: %v", err)
		}
		if got := server.record(t); len(got.Annotations) != 0 || got.Data[CASecret] != fingerprint(k.Current().cert) {
			t.Errorf("record %v %v", got.Annotations, got.Data)
		}
	})
}

func (s *fakeSecretAPI) otherSecret(t *testing.T) *corev1.Secret {
	s.open(t, CAStoreOptions{}, time.Now)
	return s.secret
}

// A request replaces the authority once, without an overlap, and restarts all replicas.
func TestReplaceOfARunningAuthority(t *testing.T) {
	server := &fakeSecretAPI{}
	a, b := server.open(t, CAStoreOptions{}, time.Now), server.open(t, CAStoreOptions{}, time.Now)
	first := a.Current().cert
	server.requestReplacement(t, "now")
	for name, k := range map[string]*CAStore{"first": a, "second": b} {
		if err := k.sync(t.Context()); !errors.Is(err, ErrReplaced) {
			t.Errorf("%s replica: %v", name, err)
		}
	}
	second := a.Current().cert
	if second.Equal(first) || !b.Current().cert.Equal(second) || len(b.Bundle().Roots()) != 1 {
		t.Error("the replicas do not use one new root alone")
	}
	k, err := server.reopen(t)
	if err != nil || !k.Current().cert.Equal(second) {
		t.Fatalf("after a restart: %v", err)
	}
	syncAll(t, k)
	if got := server.record(t); len(got.Annotations) != 0 || got.Data[CASecret] != fingerprint(second) {
		t.Errorf("record %v %v", got.Annotations, got.Data)
	}
}

// The record follows a rotation, and each of its phases can start again.
func TestRecordFollowsRotation(t *testing.T) {
	server, clock := &fakeSecretAPI{}, newFakeClock()
	k := server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
	server.requestRotation()
	for range 4 {
		syncAll(t, k)
		if got := server.record(t).Data[CASecret]; got != strings.Join(fingerprints(k.Bundle()), "\n") {
			t.Errorf("record %s in phase %s", got, k.Status().Phase)
		}
		server.open(t, CAStoreOptions{Lifetime: time.Hour}, clock.Now)
		clock.advance(phaseLength(time.Hour))
	}
}

// A CA without a record needs no access to ConfigMaps, and is followed by a new one if its Secret is lost.
func TestUnrecorded(t *testing.T) {
	server := &fakeSecretAPI{}
	options := CAStoreOptions{Namespace: testNamespace, TrustDomain: "cluster.local", Unrecorded: true}
	open := func() *CAStore {
		t.Helper()
		k, err := openCAStore(t.Context(), server.client(), options, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := open().Current().cert
	server.deleteSecret()
	if open().Current().cert.Equal(first) {
		t.Error("the lost CA is back")
	}
	_, err := server.client().CoreV1().ConfigMaps(testNamespace).Get(t.Context(), RecordConfigMap, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the record: %v, want none", err)
	}
}
