package node

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/bind" // plugins register themselves
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// DNSReadyPort is the port of CoreDNS readiness (GET /ready) on the node address.
const DNSReadyPort = 8181

// corefile is the default of Kubernetes without forwarding: a lab has no external network, so external names do not
// exist. Without the answer NXDOMAIN, CoreDNS would refuse these questions, and some resolvers would ask again.
const corefile = `%[4]s:%[1]d in-addr.arpa:%[1]d ip6.arpa:%[1]d {
	bind %[2]s
	errors
	ready %[2]s:%[3]d
	kubernetes %[4]s in-addr.arpa ip6.arpa {
		kubeconfig %[5]s
		pods insecure
		ttl 5
		startup_timeout 100ms
	}
	cache 5
	loadbalance
}
.:%[1]d {
	bind %[2]s
	errors
	template ANY ANY {
		rcode NXDOMAIN
		authority ". 5 IN SOA invalid. nobody.invalid. 1 3600 1200 604800 5"
	}
}
`

// RunDNS runs CoreDNS on the node address until ctx ends.
func RunDNS(ctx context.Context, lab plan.Lab, c plan.Cluster) error {
	caddy.Quiet, dnsserver.Quiet = true, true
	config := filepath.Join(lab.PKIDir(c), "dns.kubeconfig")
	text := fmt.Sprintf(corefile, plan.DNSPort, c.Node4, DNSReadyPort, plan.ClusterDomain, config)
	instance, err := caddy.Start(caddy.CaddyfileInput{
		Filepath: "Corefile", Contents: []byte(text), ServerTypeName: "dns",
	})
	if err != nil {
		return fmt.Errorf("CoreDNS: %w", err)
	}
	<-ctx.Done()
	_ = instance.Stop() // the process is exiting
	return nil
}
