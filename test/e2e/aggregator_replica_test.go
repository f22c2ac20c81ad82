package e2e

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"
)

// replica is a process of the aggregator.
type replica struct {
	args    []string
	process *exec.Cmd
	log     logBuffer
	// address is that of the API, and config connects to it.
	address string
	config  *rest.Config
}

// newReplica returns a replica whose control plane is the first of the clusters.
func newReplica(c *clusters, address string, args ...string) *replica {
	return &replica{address: address, args: append([]string{
		"aggregator", "--kubeconfig", c.files[memberNames[0]], "--address", address, "--metrics-address", "",
		"--probe-interval", "1s",
	}, args...)}
}

func (r *replica) start() error {
	r.process = exec.Command(filepath.Join(lab.bin, "anymesh"), r.args...)
	r.process.Stderr = &r.log
	return r.process.Start()
}

// kill ends the process as a crash does.
func (r *replica) kill() {
	_ = r.process.Process.Kill()
	_ = r.process.Wait() // the error is that it was killed
}

// startFor starts the process until the test ends.
func (r *replica) startFor(t *testing.T) {
	t.Helper()
	if err := r.start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = r.process.Process.Signal(os.Interrupt)
		err := r.process.Wait()
		text := r.log.String()
		if err != nil || strings.Contains(text, "panic: ") || strings.Contains(text, "DATA RACE") {
			t.Errorf("aggregator: %v\n%s", err, text)
		} else if t.Failed() {
			t.Logf("aggregator:\n%s", text)
		}
	})
}

// ready waits until the replica has all kinds of all reachable clusters.
func (r *replica) ready(t *testing.T) {
	t.Helper()
	kube := kubernetes.NewForConfigOrDie(r.config)
	eventually(t, 20*time.Second, "replica "+r.address, func() error {
		_, err := kube.RESTClient().Get().AbsPath("/readyz").DoRaw(t.Context())
		return err
	})
}

// replicated is an aggregator of two replicas behind one address.
type replicated struct {
	*clusters
	replicas []*replica
	balancer *relay
	// config connects to the balancer.
	config *rest.Config
}

// startReplicated starts two replicas with the same serving certificate.
func startReplicated(t *testing.T) *replicated {
	t.Helper()
	c, err := sharedClusters()
	if err != nil {
		t.Fatal(err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := []string{filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")}
	for i, text := range [][]byte{certificate, key} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	connect := func(address string) *rest.Config {
		config := rest.CopyConfig(c.config[memberNames[0]])
		config.Host, config.CAData, config.CAFile = "https://"+address, certificate, ""
		return config
	}
	r := &replicated{clusters: c}
	for range 2 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := free.Addr().String()
		_ = free.Close()
		one := newReplica(c, address, "--tls-cert-file", files[0], "--tls-private-key-file", files[1])
		one.config = connect(address)
		one.startFor(t)
		r.replicas = append(r.replicas, one)
	}
	if r.balancer, err = newRelay(r.replicas[0].address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.balancer.close)
	r.config = connect(r.balancer.address())
	for _, one := range r.replicas {
		one.ready(t)
	}
	eventually(t, 20*time.Second, "registry", func() error { return r.storeRegistry(t.Context(), registryManifest) })
	return r
}

// storeRegistry writes the registry directly to the control plane, where replicas that are down do not matter.
func (r *replicated) storeRegistry(ctx context.Context, manifest string) error {
	stored := strings.Replace(manifest, "search.karmada.io/v1alpha1", "aggregate.anymesh.dev/v1alpha1", 1)
	_, err := kubectlInput(ctx, stored, "--kubeconfig", r.files[memberNames[0]], "apply", "--server-side",
		"--force-conflicts", "-f", "-")
	return err
}

// compact removes the history of a member's etcd.
func (c *clusters) compact(ctx context.Context, cluster, revision string) error {
	body := fmt.Sprintf(`{"revision":"%s","physical":true}`, revision)
	_, err := anymesh(ctx, "sandbox", "exec", "--name", c.name, "--cluster", cluster, "--", "bash", "-c",
		fmt.Sprintf(`exec 3<>/dev/tcp/127.0.0.1/2379 && printf 'POST /v3/kv/compaction HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' >&3 &&
			grep -q '200 OK' <&3`, len(body), body))
	return err
}

// logBuffer is a buffer of which a test reads while a process writes.
type logBuffer struct {
	mutex  sync.Mutex
	buffer bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.Write(p)
}

func (b *logBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.buffer.String()
}
