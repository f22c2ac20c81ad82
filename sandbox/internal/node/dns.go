package node

import (
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
	"k8s.io/klog/v2"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// DNSReadyPort is the port of CoreDNS readiness (GET /ready) on the node address.
const DNSReadyPort = 8181

// corefile is the default of Kubernetes without forwarding: a lab has no external network, so external names do not
// exist.
const corefile = `.:%[1]d {
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
`

// startDNS runs CoreDNS on the node address.
func startDNS(lab plan.Lab, c plan.Cluster) (*caddy.Instance, error) {
	caddy.Quiet, dnsserver.Quiet = true, true
	config := filepath.Join(lab.PKIDir(c), "dns.kubeconfig")
	text := fmt.Sprintf(corefile, plan.DNSPort, c.Node4, DNSReadyPort, plan.ClusterDomain, config)
	instance, err := caddy.Start(caddy.CaddyfileInput{
		Filepath: "Corefile", Contents: []byte(text), ServerTypeName: "dns",
	})
	if err != nil {
		return nil, fmt.Errorf("CoreDNS: %w", err)
	}
	// The plugin replaces the logger of all Kubernetes packages with one that drops key-value pairs.
	klog.ClearLogger()
	return instance, nil
}
