package node

import (
	"fmt"
	"os"
	"path/filepath"

	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// ProxyHealthPort is the port of kube-proxy health (GET /healthz) on the node address.
const ProxyHealthPort = 10256

const proxyConfig = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clientConnection: {kubeconfig: %q, qps: 1000, burst: 2000}
clusterCIDR: %q
hostnameOverride: %q
bindAddress: 0.0.0.0
healthzBindAddress: "%s:%d"
metricsBindAddress: 127.0.0.1:10249
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
nftables: {syncPeriod: 30s, minSyncPeriod: 50ms}
`

// RunProxy runs kube-proxy and returns when it fails.
func RunProxy(lab plan.Lab, c plan.Cluster) error {
	file := filepath.Join(lab.ClusterDir(c), "kube-proxy.yaml")
	text := fmt.Sprintf(proxyConfig, filepath.Join(lab.PKIDir(c), "proxy.kubeconfig"),
		c.Pods4.String()+","+c.Pods6.String(), c.NodeName(), c.Node4, ProxyHealthPort)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	cmd := proxy.NewProxyCommand()
	cmd.SetArgs([]string{"--config=" + file})
	return cmd.Execute()
}
