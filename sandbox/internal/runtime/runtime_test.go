package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
)

// TestArgv follows the table of the Kubernetes documentation: program and args of the image, command and args of the
// Pod.
func TestArgv(t *testing.T) {
	image := imagemap.Image{Program: "/host/bin/prog", Args: []string{"image-arg"}}
	for _, test := range []struct {
		image         imagemap.Image
		command, args []string
		want          string
	}{
		{image, nil, nil, "/usr/local/bin/prog image-arg"},
		{image, nil, []string{"arg"}, "/usr/local/bin/prog arg"},
		{image, []string{"cmd"}, nil, "cmd"},
		{image, []string{"cmd"}, []string{"arg"}, "cmd arg"},
		{imagemap.Image{}, []string{"cmd"}, []string{"arg"}, "cmd arg"},
		{imagemap.Image{Args: []string{"sh"}}, nil, nil, "sh"},
	} {
		c := &container{image: test.image, cfg: &rt.ContainerConfig{Command: test.command, Args: test.args}}
		if got := strings.Join(c.argv(), " "); got != test.want {
			t.Errorf("command %v args %v: got %q, want %q", test.command, test.args, got, test.want)
		}
	}
}

func TestEnv(t *testing.T) {
	c := &container{
		image: imagemap.Image{Env: []string{"A=image", "B=image"}},
		pod:   &sandbox{cfg: &rt.PodSandboxConfig{Hostname: "pod"}},
		cfg: &rt.ContainerConfig{
			Envs: []*rt.KeyValue{{Key: "B", Value: []byte("pod=1")}, {Key: "PATH", Value: []byte("/p")}},
		},
	}
	got := c.env("/root")
	for _, want := range []string{"A=image", "B=pod=1", "PATH=/p", "HOSTNAME=pod", "HOME=/root"} {
		if !slices.Contains(got, want) {
			t.Errorf("missing %s in %v", want, got)
		}
	}
	if len(got) != 5 {
		t.Errorf("duplicate variable: %v", got)
	}
}

// TestRunningContainerIsNotCreatedAgain checks that only a container that runs keeps its name.
func TestRunningContainerIsNotCreatedAgain(t *testing.T) {
	pod := &sandbox{id: "pod"}
	app := &container{
		id: "ctr", pod: pod, state: rt.ContainerState_CONTAINER_RUNNING,
		cfg: &rt.ContainerConfig{Metadata: &rt.ContainerMetadata{Name: "app"}},
	}
	r := &Runtime{
		cfg:       Config{Images: &imagemap.Map{}},
		sandboxes: map[string]*sandbox{pod.id: pod}, containers: map[string]*container{app.id: app},
	}
	again := &rt.ContainerConfig{Metadata: &rt.ContainerMetadata{Name: "app", Attempt: 1}, Image: &rt.ImageSpec{Image: "unknown"}}
	_, err := r.CreateContainer(t.Context(), pod.id, again, nil)
	if status.Code(err) != codes.AlreadyExists {
		t.Errorf("while it runs: got error %v", err)
	}
	app.state = rt.ContainerState_CONTAINER_EXITED
	_, err = r.CreateContainer(t.Context(), pod.id, again, nil)
	if err == nil || status.Code(err) == codes.AlreadyExists {
		t.Errorf("after its exit: got error %v, want that of the unknown image", err)
	}
}

func TestResolvConf(t *testing.T) {
	got := string(resolvConf(&rt.DNSConfig{
		Servers: []string{"10.0.0.10"}, Searches: []string{"a", "b"}, Options: []string{"ndots:5"},
	}))
	if want := "nameserver 10.0.0.10\nsearch a b\noptions ndots:5\n"; got != want {
		t.Errorf("got %q", got)
	}
	if got := string(resolvConf(nil)); got != "" {
		t.Errorf("without a configuration: %q", got)
	}
}

// TestLog checks the CRI format, the split of long lines, and that an incomplete line is written at the end.
func TestLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "0.log")
	l, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	out, errOut := l.stream("stdout"), l.stream("stderr")
	for _, part := range []string{"on", "e\ntwo\n", strings.Repeat("x", maxLine+1), "\nunfinished"} {
		if n, err := out.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := errOut.Write([]byte("bad\n")); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l.Close()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(f) != 4 {
			t.Fatalf("record %q", line)
		}
		if len(f[3]) > 20 {
			f[3] = "long"
		}
		got = append(got, strings.Join(f[1:], " "))
	}
	want := []string{
		"stdout F one", "stdout F two", "stdout P long", "stdout F x", "stderr F bad", "stdout F unfinished",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLogReopen checks that no lines are lost when a log is rotated while it is written.
func TestLogReopen(t *testing.T) {
	dir := t.TempDir()
	l, err := openLog(filepath.Join(dir, "0.log"))
	if err != nil {
		t.Fatal(err)
	}
	const lines = 500
	var wg sync.WaitGroup
	out := l.stream("stdout")
	wg.Go(func() {
		for range lines {
			_, _ = out.Write([]byte("line\n"))
		}
	})
	if err := os.Rename(filepath.Join(dir, "0.log"), filepath.Join(dir, "old.log")); err != nil {
		t.Fatal(err)
	}
	if err := l.reopen(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	l.Close()
	n := 0
	for _, f := range []string{"0.log", "old.log"} {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(b), "\n")
	}
	if n != lines {
		t.Errorf("%d lines, want %d", n, lines)
	}
}

// TestPool checks that addresses are unique, are reused as late as possible, and run out with an error.
func TestPool(t *testing.T) {
	p := newPool()
	first, err := p.take()
	if err != nil || first != firstPod {
		t.Fatal(first, err)
	}
	p.give(first)
	if second, _ := p.take(); second == first {
		t.Error("an address is reused immediately")
	}
	seen := map[int]bool{}
	for range lastPod - firstPod {
		n, err := p.take()
		if err != nil || seen[n] || n < firstPod || n > lastPod {
			t.Fatal(n, err)
		}
		seen[n] = true
	}
	if n, err := p.take(); err == nil {
		t.Errorf("got %d from an exhausted pool", n)
	}
	p.give(77)
	if n, err := p.take(); n != 77 || err != nil {
		t.Error(n, err)
	}
}

func TestStopSignal(t *testing.T) {
	for in, want := range map[rt.Signal]int{
		rt.Signal_RUNTIME_DEFAULT: 15, rt.Signal_SIGINT: 2, rt.Signal_SIGUSR1: 10, rt.Signal_SIGRTMIN: 34,
		rt.Signal_SIGRTMINPLUS3: 37, rt.Signal_SIGRTMAX: 64, rt.Signal_SIGRTMAXMINUS2: 62,
	} {
		t.Run(in.String(), func(t *testing.T) {
			if got := int(stopSignal(in)); got != want {
				t.Errorf("got %d, want %d", got, want)
			}
		})
	}
}

// TestGivesCommand checks that a pull of an unknown image succeeds only if all containers with the image set a
// command.
func TestGivesCommand(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Image: "a", Command: []string{"x"}}},
		Containers:     []corev1.Container{{Image: "a", Command: []string{"y"}}, {Image: "b"}},
	}}
	if !givesCommand(pod, "a") || givesCommand(pod, "b") {
		t.Error("wrong answer")
	}
}
