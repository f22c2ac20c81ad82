package controlplane

import (
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// The requests per second to the API server, and their bursts, of each group of components. A group that exhausts its
// budget, for example because strangers send tokens to the signing endpoint, delays no other one. Informers, status
// writes and finalizers have the budget of Config.KubeConfig for each kind.
const (
	// SigningQPS is the budget of the signing endpoint: TokenReviews, and reads of pods, before anybody is
	// authenticated.
	SigningQPS, signingBurst = 200, 400
	// coreQPS is the budget of leader election, the authorities, and the addresses of the API servers.
	coreQPS, coreBurst = 50, 100
	// eventQPS is the budget of events.
	eventQPS, eventBurst = 50, 100
	// driverQPS is the budget of requests of a sidecar driver while it injects sidecars; drivers of this program make
	// none.
	driverQPS, driverBurst = 20, 40
)

// clients are clients of the API server with separate budgets. metadata has that of a group for itself.
type clients struct {
	core, signing, events, drivers kubernetes.Interface
	metadata                       metadata.Interface
}

func newClients(config *rest.Config) (c clients, err error) {
	for _, group := range []struct {
		into  *kubernetes.Interface
		qps   float32
		burst int
	}{
		{&c.core, coreQPS, coreBurst},
		{&c.signing, SigningQPS, signingBurst},
		{&c.events, eventQPS, eventBurst},
		{&c.drivers, driverQPS, driverBurst},
	} {
		own := rest.CopyConfig(config)
		own.RateLimiter, own.QPS, own.Burst = nil, group.qps, group.burst
		if *group.into, err = kubernetes.NewForConfig(own); err != nil {
			return clients{}, fmt.Errorf("Kubernetes client: %w", err)
		}
	}
	own := rest.CopyConfig(config)
	own.RateLimiter, own.QPS, own.Burst = nil, coreQPS, coreBurst
	if c.metadata, err = metadata.NewForConfig(own); err != nil {
		return clients{}, fmt.Errorf("Kubernetes client: %w", err)
	}
	return c, nil
}
