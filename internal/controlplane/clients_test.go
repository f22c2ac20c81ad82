package controlplane

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// While the signing endpoint has more TokenReviews than its budget allows, the requests of other components do not
// wait, whatever limiter the configuration has.
func TestBudgetsAreSeparate(t *testing.T) {
	process := newAPIProcess(t, newKubeAPI())
	process.run()
	c, err := newClients(&rest.Config{Host: "http://" + process.address, QPS: 1, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var reviews atomic.Int32
	for range 2 * (SigningQPS + signingBurst) {
		all.Go(func() {
			_, _ = c.signing.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{},
				metav1.CreateOptions{})
			reviews.Add(1)
		})
	}
	for reviews.Load() < signingBurst {
		time.Sleep(time.Millisecond)
	}
	begun := time.Now()
	for name, client := range map[string]kubernetes.Interface{"core": c.core, "events": c.events, "drivers": c.drivers} {
		if _, err := client.CoreV1().Secrets("a").Get(t.Context(), "x", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("other components wait for %s", took)
	}
	if n := reviews.Load(); n == 2*(SigningQPS+signingBurst) {
		t.Error("the TokenReviews are not limited")
	}
	stop()
	all.Wait()
}
