package controlplane

import (
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// The TokenReviews and the reads of pods of the signing endpoint have one budget. When it is used up, the requests of
// other components do not wait, whatever limiter the configuration has.
func TestBudgetsAreSeparate(t *testing.T) {
	c, err := newClients(&rest.Config{Host: "http://127.0.0.1:1", QPS: 1, Burst: 1})
	if err != nil {
		t.Fatal(err)
	}
	// TokenReviews use the first, pods the second.
	reviews := c.signing.AuthenticationV1().RESTClient().GetRateLimiter()
	pods := c.signing.CoreV1().RESTClient().GetRateLimiter()
	if reviews != pods || reviews.QPS() != SigningQPS {
		t.Errorf("limiters of the signing endpoint: %v and %v", reviews, pods)
	}
	taken := 0
	for reviews.TryAccept() {
		taken++
	}
	if taken < signingBurst {
		t.Errorf("a burst of %d TokenReviews", taken)
	}
	for name, client := range map[string]kubernetes.Interface{"core": c.core, "events": c.events, "drivers": c.drivers} {
		if limiter := client.CoreV1().RESTClient().GetRateLimiter(); limiter == pods || !limiter.TryAccept() {
			t.Errorf("%s has the limiter of the signing endpoint", name)
		}
	}
}
