package runtime

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
)

// container is one container. Fields below mu are guarded by Runtime.mu.
type container struct {
	id    string
	pod   *sandbox
	cfg   *rt.ContainerConfig
	image imagemap.Image
	base  *base // nil if the image is not an OCI archive
	dir   string
	logs  *logFile
	done  chan struct{} // closed when the process has exited and its output is written

	state                      rt.ContainerState
	created, started, finished time.Time
	exit                       int32
	reason                     string
	proc                       *process
}

// CreateContainer implements the CRI. It fails if the image is unknown and the Pod sets no command, or if the container
// runs already: a kubelet that acts on an outdated state would start a restarted sidecar twice.
func (r *Runtime) CreateContainer(_ context.Context, podID string, cfg *rt.ContainerConfig,
	_ *rt.PodSandboxConfig) (string, error) {
	pod, err := r.findSandbox(podID)
	if err != nil {
		return "", err
	}
	if running := r.runningAs(podID, cfg.GetMetadata().GetName()); running != "" {
		return "", status.Errorf(codes.AlreadyExists, "container %s of the Pod runs as %s", cfg.GetMetadata().GetName(), running)
	}
	name := imageName(cfg.Image)
	image, known := r.cfg.Images.Find(name)
	if !known && len(cfg.Command) == 0 {
		return "", errNoImage(name)
	}
	base, err := r.base(image)
	if err != nil {
		return "", fmt.Errorf("image %q: %w", name, err)
	}
	r.mu.Lock()
	c := &container{
		id: r.id("ctr"), pod: pod, cfg: cfg, image: image, base: base, created: time.Now(), done: make(chan struct{}),
	}
	r.mu.Unlock()
	c.dir = filepath.Join(r.cfg.Dir, "containers", c.id)
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return "", err
	}
	if c.logs, err = openLog(filepath.Join(pod.cfg.LogDirectory, cfg.LogPath)); err != nil {
		return "", err
	}
	r.mu.Lock()
	r.containers[c.id] = c
	r.mu.Unlock()
	r.emit(pod, c.id, rt.ContainerEventType_CONTAINER_CREATED_EVENT)
	return c.id, nil
}

// runningAs returns the ID of the container of a Pod that runs under a name, or "".
func (r *Runtime) runningAs(podID, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.containersOf(podID) {
		if c.cfg.GetMetadata().GetName() == name && c.state == rt.ContainerState_CONTAINER_RUNNING {
			return c.id
		}
	}
	return ""
}

// imageName is the image name in the Pod; the kubelet passes the result of the pull.
func imageName(spec *rt.ImageSpec) string {
	if spec.GetUserSpecifiedImage() != "" {
		return spec.UserSpecifiedImage
	}
	return spec.GetImage()
}

// StartContainer implements the CRI.
func (r *Runtime) StartContainer(_ context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	p, err := r.start(c)
	if err != nil {
		c.logs.Close()
		r.mu.Lock()
		c.state, c.started, c.finished = rt.ContainerState_CONTAINER_EXITED, time.Now(), time.Now()
		c.exit, c.reason = 128, "StartError"
		r.mu.Unlock()
		close(c.done)
		return err
	}
	r.mu.Lock()
	c.state, c.started, c.proc = rt.ContainerState_CONTAINER_RUNNING, time.Now(), p
	r.mu.Unlock()
	r.deliverStarted(c.pod, id)
	go r.await(c, p)
	return nil
}

func (r *Runtime) await(c *container, p *process) {
	code := p.wait()
	c.logs.Close()
	r.mu.Lock()
	c.state, c.finished, c.exit = rt.ContainerState_CONTAINER_EXITED, time.Now(), int32(code)
	if c.reason = "Completed"; code != 0 {
		c.reason = "Error"
	}
	r.mu.Unlock()
	close(c.done)
	r.emit(c.pod, c.id, rt.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// StopContainer implements the CRI: it sends the stop signal, and SIGKILL after timeout seconds. All processes of the
// container end with its first process.
func (r *Runtime) StopContainer(ctx context.Context, id string, timeout int64) error {
	c, err := r.find(id)
	if err != nil {
		return nil // already removed
	}
	r.mu.Lock()
	p, state := c.proc, c.state
	r.mu.Unlock()
	if p == nil || state != rt.ContainerState_CONTAINER_RUNNING {
		return nil
	}
	if timeout > 0 {
		p.signal(c.stopSignal())
		t := time.NewTimer(time.Duration(timeout) * time.Second)
		defer t.Stop()
		select {
		case <-c.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-t.C:
		}
	}
	p.signal(syscall.SIGKILL)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stopSignal maps the enumeration of the CRI, which uses signal names. Real-time signals count from both ends.
func stopSignal(s rt.Signal) syscall.Signal {
	const rtMin, rtMax = 34, 64
	name := s.String()
	if sig := unix.SignalNum(name); sig != 0 {
		return sig
	}
	n := 0
	if rest, ok := strings.CutPrefix(name, "SIGRTMIN"); ok {
		_, _ = fmt.Sscanf(rest, "PLUS%d", &n)
		return syscall.Signal(rtMin + n)
	}
	if rest, ok := strings.CutPrefix(name, "SIGRTMAX"); ok {
		_, _ = fmt.Sscanf(rest, "MINUS%d", &n)
		return syscall.Signal(rtMax - n)
	}
	return syscall.SIGTERM
}

// RemoveContainer implements the CRI.
func (r *Runtime) RemoveContainer(ctx context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return nil
	}
	if err := r.StopContainer(ctx, id, 0); err != nil {
		return err
	}
	c.logs.Close()
	r.mu.Lock()
	delete(r.containers, id)
	r.mu.Unlock()
	r.emit(c.pod, id, rt.ContainerEventType_CONTAINER_DELETED_EVENT)
	return os.RemoveAll(c.dir)
}

func (r *Runtime) find(id string) (*container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.containers[id]; c != nil {
		return c, nil
	}
	return nil, status.Errorf(codes.NotFound, "no container %q", id)
}

// ListContainers implements the CRI.
func (r *Runtime) ListContainers(_ context.Context, f *rt.ContainerFilter) ([]*rt.Container, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*rt.Container
	for _, c := range r.containers {
		if f.GetId() != "" && f.Id != c.id || f.GetPodSandboxId() != "" && f.PodSandboxId != c.pod.id ||
			f.GetState() != nil && f.State.State != c.state || !matches(f.GetLabelSelector(), c.cfg.Labels) {
			continue
		}
		out = append(out, &rt.Container{
			Id: c.id, PodSandboxId: c.pod.id, Metadata: c.cfg.Metadata, Image: c.cfg.Image,
			ImageRef: c.cfg.Image.GetImage(), ImageId: c.cfg.Image.GetImage(),
			State: c.state, CreatedAt: c.created.UnixNano(), Labels: c.cfg.Labels, Annotations: c.cfg.Annotations,
		})
	}
	return out, nil
}

// ContainerStatus implements the CRI.
func (r *Runtime) ContainerStatus(_ context.Context, id string, _ bool) (*rt.ContainerStatusResponse, error) {
	c, err := r.find(id)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return &rt.ContainerStatusResponse{Status: c.status()}, nil
}

// status returns the CRI status. The caller holds Runtime.mu.
func (c *container) status() *rt.ContainerStatus {
	nano := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixNano()
	}
	return &rt.ContainerStatus{
		Id: c.id, Metadata: c.cfg.Metadata, State: c.state, CreatedAt: nano(c.created), StartedAt: nano(c.started),
		FinishedAt: nano(c.finished),
		ExitCode:   c.exit, Reason: c.reason, Image: c.cfg.Image, ImageRef: c.cfg.Image.GetImage(),
		ImageId: c.cfg.Image.GetImage(),
		Labels:  c.cfg.Labels, Annotations: c.cfg.Annotations, Mounts: c.cfg.Mounts, LogPath: c.logs.path,
	}
}
