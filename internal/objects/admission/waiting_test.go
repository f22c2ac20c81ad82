package admission_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/dialect/appmesh"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/internal/objects/admission"
)

// waitingServer serves webhooks whose reviews wait for an engine without objects.
func waitingServer(t *testing.T) (*engine.Engine, func(object string) (admissionv1.AdmissionResponse, time.Duration)) {
	waiting := admission.NewWaiting(prometheus.NewRegistry())
	e := engine.New(slog.New(slog.DiscardHandler), []dialect.Dialect{appmesh.Dialect{}}, engine.Settings{},
		func(c engine.Change) { waiting.Changed(append(c.Objects, c.Deleted...)...) })
	handler := admission.Guard(serve(t, admission.Options{Cache: e, Waiting: waiting}), nil, prometheus.NewRegistry())
	return e, func(object string) (admissionv1.AdmissionResponse, time.Duration) {
		begun := time.Now()
		response, _ := review(t, handler, "mutate", object, "")
		return response, time.Since(begun)
	}
}

// An object that depends on a Namespace and a Mesh waits until the cache has both, as with kubectl apply of a folder.
func TestReviewWaitsForCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, create := waitingServer(t)
		go func() {
			time.Sleep(100 * time.Millisecond)
			e.Sync() // the first one, without objects
			time.Sleep(100 * time.Millisecond)
			e.Set(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"m": "yes"}}})
			e.Sync()
			time.Sleep(time.Second)
			e.Set(&api.Mesh{
				ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "u-m"},
				Spec:       api.MeshSpec{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"m": "yes"}}},
			})
			e.Sync()
		}()
		response, took := create(`{kind: VirtualNode, metadata: {name: x, namespace: a}}`)
		if !response.Allowed || took != 1200*time.Millisecond {
			t.Errorf("got %+v after %s", response, took)
		}
	})
}

// What the cache does not have in time is refused. Objects that are invalid in any case do not wait.
func TestReviewDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, create := waitingServer(t)
		const node = `{kind: VirtualNode, metadata: {name: x, namespace: a}}`
		if response, took := create(`{kind: Mesh, metadata: {name: x}}`); response.Allowed || took != admission.MaxWait ||
			!strings.Contains(message(response), "is starting") {
			t.Errorf("before the first sync: got %+v after %s", response, took)
		}
		e.Sync()
		if response, took := create(node); response.Allowed || took != admission.MaxWait {
			t.Errorf("without a Mesh: got %+v after %s", response, took)
		}
		if response, took := create(`{kind: Mesh, metadata: {name: x}}`); !response.Allowed || took != 0 {
			t.Errorf("a Mesh: got %+v after %s", response, took)
		}
	})
}

// Only so many reviews of an address wait; the others are answered at once. Those that wait keep nobody from being
// evaluated.
func TestWaitingReviewsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, create := waitingServer(t)
		e.Sync()
		const node = `{kind: VirtualNode, metadata: {name: x, namespace: a}}`
		took := make(chan time.Duration)
		for range admission.MaxWaitingPerSource + 10 {
			go func() {
				_, t := create(node)
				took <- t
			}()
		}
		for range 10 {
			if got := <-took; got != 0 {
				t.Errorf("a review waited for %s", got)
			}
		}
		if response, took := create(`{kind: Mesh, metadata: {name: x}}`); !response.Allowed || took != 0 {
			t.Errorf("while others wait: got %+v after %s", response, took)
		}
		for range admission.MaxWaitingPerSource {
			if got := <-took; got != admission.MaxWait {
				t.Errorf("a review waited for %s", got)
			}
		}
	})
}
