package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"anymesh.dev/anymesh/sandbox/internal/node"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// check checks the parts of a cluster from the network of the lab.
type check struct {
	cluster plan.Cluster
	client  kubernetes.Interface
	http    *http.Client
}

func newCheck(lab plan.Lab, c plan.Cluster) (*check, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", lab.InsideKubeconfig(c))
	if err != nil {
		return nil, err
	}
	cfg.QPS, cfg.Timeout = -1, 2*time.Second
	client, err := kubernetes.NewForConfig(cfg)
	return &check{c, client, &http.Client{Timeout: time.Second}}, err
}

func (c *check) api(ctx context.Context) error {
	_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err
}

func (c *check) registered(ctx context.Context) error {
	_, err := c.client.CoreV1().Nodes().Get(ctx, c.cluster.NodeName(), metav1.GetOptions{})
	return err
}

// node checks that the node is Ready and that the default ServiceAccount exists, which Pods require.
func (c *check) node(ctx context.Context) error {
	n, err := c.client.CoreV1().Nodes().Get(ctx, c.cluster.NodeName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(n.Spec.Taints) > 0 {
		return errors.New("the node has taints")
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
			_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
			return err
		}
	}
	return errors.New("the node is not ready")
}

// dns checks the DNS response for the Service of the API server.
func (c *check) dns(ctx context.Context) error {
	if err := c.get(ctx, node.DNSReadyPort, "/ready"); err != nil {
		return err
	}
	server := net.JoinHostPort(c.cluster.Node4.String(), fmt.Sprint(plan.DNSPort))
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, server)
	}}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	got, err := r.LookupNetIP(ctx, "ip4", "kubernetes.default.svc."+plan.ClusterDomain+".")
	if err != nil {
		return err
	}
	if len(got) != 1 || got[0].Unmap() != c.cluster.APIService() {
		return fmt.Errorf("DNS response: %v", got)
	}
	return nil
}

// services checks that kube-proxy has written its rules.
func (c *check) services(ctx context.Context) error {
	return c.get(ctx, node.ProxyHealthPort, "/healthz")
}

func (c *check) get(ctx context.Context, port int, path string) error {
	url := fmt.Sprintf("http://%s%s", net.JoinHostPort(c.cluster.Node4.String(), fmt.Sprint(port)), path)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// tail returns at most the last n bytes of a file.
func tail(file string, n int64) string {
	f, err := os.Open(file)
	if err != nil {
		return err.Error()
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > n {
		_, _ = f.Seek(-n, io.SeekEnd)
	}
	b, _ := io.ReadAll(f)
	return string(b)
}
