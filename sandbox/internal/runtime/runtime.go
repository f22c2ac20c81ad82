// Package runtime is a container runtime for the kubelet that runs containers as processes of this machine.
//
// In: calls of the Container Runtime Interface from the kubelet in the same process. Out: processes in namespaces
// (see package jail), their logs in the CRI format, exec, attach and port-forward streams, and events. Images are
// names of local programs or OCI archives (see packages imagemap and ociimage). cgroup limits, seccomp, AppArmor and
// SELinux are not applied.
package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	rt "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/klog/v2"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// Runtime implements the runtime service of the CRI. Create it with New.
type Runtime struct {
	cfg     Config
	streams streaming.Server
	addrs   pool
	events  events

	mu         sync.Mutex
	serial     int
	sandboxes  map[string]*sandbox
	containers map[string]*container
}

// Config is the configuration of the runtime of a node.
type Config struct {
	Cluster plan.Cluster
	Dir     string   // folder on a tmpfs for changes of containers
	Hidden  []string // host folders hidden from containers
	UserNS  bool
	Images  *imagemap.Map

	ImageDir string // folder for unpacked images, shared by the nodes of a lab
}

// New creates a runtime and starts its streaming server on the loopback interface in the network namespace of the
// calling thread.
func New(cfg Config) (*Runtime, error) {
	if err := os.MkdirAll(filepath.Join(cfg.Dir, "containers"), 0o755); err != nil {
		return nil, fmt.Errorf("container runtime: %w", err)
	}
	r := &Runtime{cfg: cfg, addrs: newPool(), sandboxes: map[string]*sandbox{}, containers: map[string]*container{}}
	streamCfg := streaming.DefaultConfig
	streamCfg.Addr = "127.0.0.1:10251"
	s, err := streaming.NewServer(streamCfg, streams{r})
	if err != nil {
		return nil, fmt.Errorf("container runtime: streaming server: %w", err)
	}
	r.streams = s
	go func() {
		if err := s.Start(true); err != nil {
			klog.ErrorS(err, "the streaming server for exec, attach and port-forward failed")
		}
	}()
	go r.refresh()
	return r, nil
}

// id returns a new identifier. The caller holds mu.
func (r *Runtime) id(kind string) string {
	r.serial++
	return fmt.Sprintf("%s-%s-%06d", r.cfg.Cluster.Name, kind, r.serial)
}

// Version implements the CRI.
func (r *Runtime) Version(context.Context, string) (*rt.VersionResponse, error) {
	return &rt.VersionResponse{
		Version: "0.1.0", RuntimeName: "anymesh-sandbox", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

// Status implements the CRI. The runtime is always ready.
func (r *Runtime) Status(context.Context, bool) (*rt.StatusResponse, error) {
	return &rt.StatusResponse{
		Status: &rt.RuntimeStatus{Conditions: []*rt.RuntimeCondition{
			{Type: rt.RuntimeReady, Status: true}, {Type: rt.NetworkReady, Status: true},
		}},
		Features: &rt.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}, nil
}

// RuntimeConfig implements the CRI.
func (r *Runtime) RuntimeConfig(context.Context) (*rt.RuntimeConfigResponse, error) {
	return &rt.RuntimeConfigResponse{Linux: &rt.LinuxRuntimeConfiguration{CgroupDriver: rt.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig implements the CRI. It does nothing: Pod ranges come from the plan.
func (r *Runtime) UpdateRuntimeConfig(context.Context, *rt.RuntimeConfig) error { return nil }

// Close implements the CRI.
func (r *Runtime) Close(context.Context) error { return nil }

func matches(selector, labels map[string]string) bool {
	for k, v := range selector {
		if labels[k] != v {
			return false
		}
	}
	return true
}
