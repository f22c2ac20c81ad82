package runtime

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/netns"
)

// sandbox is a Pod: the shared namespaces and files of its containers.
type sandbox struct {
	id      string
	cfg     *rt.PodSandboxConfig
	dir     string
	created time.Time
	ns      *netns.Set // nil with the host network
	number  int        // address number; 0 with the host network
	v4, v6  netip.Addr
	state   rt.PodSandboxState // guarded by Runtime.mu
}

func (s *sandbox) options() *rt.NamespaceOption {
	return s.cfg.GetLinux().GetSecurityContext().GetNamespaceOptions()
}

func (s *sandbox) hostNetwork() bool { return s.options().GetNetwork() == rt.NamespaceMode_NODE }

// RunPodSandbox implements the CRI: it creates the namespaces and the link of the Pod, and the files resolv.conf and
// hostname.
func (r *Runtime) RunPodSandbox(_ context.Context, cfg *rt.PodSandboxConfig, _ string) (string, error) {
	r.mu.Lock()
	id := r.id("pod")
	r.mu.Unlock()
	s := &sandbox{id: id, cfg: cfg, created: time.Now(), dir: filepath.Join(r.cfg.Dir, "pods", id)}
	if err := r.setUp(s); err != nil {
		r.tearDown(s)
		os.RemoveAll(s.dir)
		return "", fmt.Errorf("Pod %s/%s: %w", cfg.Metadata.Namespace, cfg.Metadata.Name, err)
	}
	r.mu.Lock()
	r.sandboxes[id] = s
	r.mu.Unlock()
	r.deliverStarted(s, id)
	return id, nil
}

func (r *Runtime) setUp(s *sandbox) error {
	for _, p := range s.cfg.PortMappings {
		if p.HostPort != 0 && !s.hostNetwork() {
			return fmt.Errorf("hostPort %d: not supported by the sandbox; use a Service of type NodePort", p.HostPort)
		}
	}
	if s.options().GetPid() == rt.NamespaceMode_POD {
		return errors.New("shareProcessNamespace: not supported by the sandbox; each container has its own PID namespace")
	}
	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return err
	}
	if s.cfg.LogDirectory != "" {
		if err := os.MkdirAll(s.cfg.LogDirectory, 0o755); err != nil {
			return err
		}
	}
	hostname := s.cfg.Hostname
	if s.hostNetwork() {
		hostname = r.cfg.Cluster.NodeName()
	} else {
		ns, err := netns.NewPod(hostname, s.cfg.GetLinux().GetSysctls())
		if err != nil {
			return err
		}
		s.ns = ns
		if s.number, err = r.addrs.take(); err != nil {
			return err
		}
		s.v4, s.v6 = r.cfg.Cluster.PodAddrs(s.number)
		if err := netns.JoinPod(ns.Net, s.device(), r.cfg.Cluster, s.v4, s.v6); err != nil {
			return err
		}
	}
	if err := os.WriteFile(s.file("hostname"), []byte(hostname+"\n"), 0o644); err != nil {
		return err
	}
	return os.WriteFile(s.file("resolv.conf"), resolvConf(s.cfg.DnsConfig), 0o644)
}

func (s *sandbox) device() string          { return fmt.Sprintf("pod%d", s.number) }
func (s *sandbox) file(name string) string { return filepath.Join(s.dir, name) }

func resolvConf(c *rt.DNSConfig) []byte {
	var b strings.Builder
	for _, s := range c.GetServers() {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(c.GetSearches()) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(c.Searches, " "))
	}
	if len(c.GetOptions()) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(c.Options, " "))
	}
	return []byte(b.String())
}

func (r *Runtime) tearDown(s *sandbox) {
	if s.ns != nil {
		if s.v4.IsValid() {
			_ = netns.Unlink(s.device()) // it would be deleted with the namespace, but later
		}
		s.ns.Close()
	}
	if s.number != 0 {
		r.addrs.give(s.number)
	}
}

// StopPodSandbox implements the CRI. Stopping a stopped or removed Pod succeeds.
func (r *Runtime) StopPodSandbox(ctx context.Context, id string) error {
	r.mu.Lock()
	s := r.sandboxes[id]
	if s == nil || s.state == rt.PodSandboxState_SANDBOX_NOTREADY {
		r.mu.Unlock()
		return nil
	}
	s.state = rt.PodSandboxState_SANDBOX_NOTREADY
	mine := r.containersOf(id)
	r.mu.Unlock()
	for _, c := range mine {
		if err := r.StopContainer(ctx, c.id, 0); err != nil {
			return err
		}
	}
	r.tearDown(s)
	r.emit(s, id, rt.ContainerEventType_CONTAINER_STOPPED_EVENT)
	return nil
}

// RemovePodSandbox implements the CRI.
func (r *Runtime) RemovePodSandbox(ctx context.Context, id string) error {
	if err := r.StopPodSandbox(ctx, id); err != nil {
		return err
	}
	r.mu.Lock()
	s := r.sandboxes[id]
	mine := r.containersOf(id)
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	for _, c := range mine {
		if err := r.RemoveContainer(ctx, c.id); err != nil {
			return err
		}
	}
	r.emit(s, id, rt.ContainerEventType_CONTAINER_DELETED_EVENT)
	r.mu.Lock()
	delete(r.sandboxes, id)
	r.mu.Unlock()
	return os.RemoveAll(s.dir)
}

// containersOf returns the containers of a Pod. The caller holds mu.
func (r *Runtime) containersOf(id string) []*container {
	var out []*container
	for _, c := range r.containers {
		if c.pod.id == id {
			out = append(out, c)
		}
	}
	return out
}

func (r *Runtime) findSandbox(id string) (*sandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sandboxes[id]; s != nil {
		return s, nil
	}
	return nil, status.Errorf(codes.NotFound, "no Pod sandbox %q", id)
}

// PodSandboxStatus implements the CRI.
func (r *Runtime) PodSandboxStatus(_ context.Context, id string, _ bool) (*rt.PodSandboxStatusResponse, error) {
	s, err := r.findSandbox(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	resp := &rt.PodSandboxStatusResponse{Status: s.status(), Timestamp: time.Now().UnixNano()}
	for _, c := range r.containersOf(id) {
		resp.ContainersStatuses = append(resp.ContainersStatuses, c.status())
	}
	return resp, nil
}

// status returns the CRI status of the Pod. The caller holds Runtime.mu.
func (s *sandbox) status() *rt.PodSandboxStatus {
	out := &rt.PodSandboxStatus{
		Id: s.id, Metadata: s.cfg.Metadata, State: s.state, CreatedAt: s.created.UnixNano(),
		Labels: s.cfg.Labels, Annotations: s.cfg.Annotations,
		Network: &rt.PodSandboxNetworkStatus{},
		Linux:   &rt.LinuxPodSandboxStatus{Namespaces: &rt.Namespace{Options: s.options()}},
	}
	if s.v4.IsValid() {
		out.Network.Ip = s.v4.String()
		out.Network.AdditionalIps = []*rt.PodIP{{Ip: s.v6.String()}}
	}
	return out
}

// ListPodSandbox implements the CRI.
func (r *Runtime) ListPodSandbox(_ context.Context, f *rt.PodSandboxFilter) ([]*rt.PodSandbox, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*rt.PodSandbox
	for _, s := range r.sandboxes {
		if f.GetId() != "" && f.Id != s.id || f.GetState() != nil && f.State.State != s.state ||
			!matches(f.GetLabelSelector(), s.cfg.Labels) {
			continue
		}
		out = append(out, &rt.PodSandbox{
			Id: s.id, Metadata: s.cfg.Metadata, State: s.state, CreatedAt: s.created.UnixNano(), Labels: s.cfg.Labels,
			Annotations: s.cfg.Annotations,
		})
	}
	return out, nil
}
