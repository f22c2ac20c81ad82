package runtime

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	oci "github.com/opencontainers/image-spec/specs-go/v1"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
	"anymesh.dev/anymesh/sandbox/internal/ociimage"
)

// TestArgvOfAnArchive checks the precedence: Pod, image map, archive.
func TestArgvOfAnArchive(t *testing.T) {
	from := &base{config: oci.ImageConfig{Entrypoint: []string{"/entry", "point"}, Cmd: []string{"cmd"}}}
	for _, test := range []struct {
		image         imagemap.Image
		command, args []string
		want          string
	}{
		{want: "/entry point cmd"},
		{args: []string{"arg"}, want: "/entry point arg"},
		{command: []string{"run"}, want: "run"},
		{command: []string{"run"}, args: []string{"arg"}, want: "run arg"},
		{image: imagemap.Image{Args: []string{"map"}}, want: "/entry point map"},
		{image: imagemap.Image{Args: []string{"map"}}, args: []string{"arg"}, want: "/entry point arg"},
		{image: imagemap.Image{Program: "/host/prog"}, want: "/usr/local/bin/prog"},
	} {
		c := &container{base: from, image: test.image, cfg: &rt.ContainerConfig{Command: test.command, Args: test.args}}
		for range 2 { // the second call must return the same: shared slices must not be appended to
			if got := strings.Join(c.argv(), " "); got != test.want {
				t.Errorf("%+v: got %q, want %q", test, got, test.want)
			}
		}
	}
}

func TestUser(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "etc"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"passwd": "web:x:33:34::/srv:\n", "group": "www:x:34:\nlogs:x:50:web\n"} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	number := func(n int64) *rt.Int64Value { return &rt.Int64Value{Value: n} }
	seven := int64(7)
	type security = rt.LinuxContainerSecurityContext
	for what, test := range map[string]struct {
		archive string // user in the configuration; "-" without an archive
		image   imagemap.Image
		sec     *security
		want    ociimage.User
	}{
		"archive": {
			"web", imagemap.Image{}, &security{}, ociimage.User{UID: 33, GID: 34, Groups: []int{50}, Home: "/srv"},
		},
		"user name from the kubelet": {
			"web:logs", imagemap.Image{}, &security{RunAsUsername: "web"}, ociimage.User{UID: 33, GID: 50, Home: "/srv"},
		},
		"image user repeated by the kubelet": {
			"33:77", imagemap.Image{}, &security{RunAsUser: number(33)}, ociimage.User{UID: 33, GID: 77, Home: "/srv"},
		},
		"user from the Pod": {
			"web", imagemap.Image{}, &security{RunAsUser: number(5)}, ociimage.User{UID: 5, Home: "/"},
		},
		"root from the Pod": {"web", imagemap.Image{}, &security{RunAsUser: number(0)}, ociimage.User{Home: "/"}},
		"group from the Pod": {
			"web", imagemap.Image{}, &security{RunAsGroup: number(9)},
			ociimage.User{UID: 33, GID: 9, Groups: []int{50}, Home: "/srv"},
		},
		"supplemental groups from the Pod": {
			"web", imagemap.Image{}, &security{SupplementalGroups: []int64{1}},
			ociimage.User{UID: 33, GID: 34, Groups: []int{50, 1}, Home: "/srv"},
		},
		"image map": {"web", imagemap.Image{User: &seven}, &security{}, ociimage.User{UID: 7, Home: "/"}},
		"strict supplemental groups": {
			"web", imagemap.Image{}, &security{SupplementalGroupsPolicy: rt.SupplementalGroupsPolicy_Strict},
			ociimage.User{UID: 33, GID: 34, Home: "/srv"},
		},
		"no archive":            {"-", imagemap.Image{}, &security{}, ociimage.User{Home: "/root"}},
		"no archive, image map": {"-", imagemap.Image{User: &seven}, &security{}, ociimage.User{UID: 7, Home: "/"}},
		"no archive, user from the Pod": {
			"-", imagemap.Image{User: &seven}, &security{RunAsUser: number(33)}, ociimage.User{UID: 33, Home: "/"},
		},
		"no archive, root from the Pod": {
			"-", imagemap.Image{User: &seven}, &security{RunAsUser: number(0)}, ociimage.User{Home: "/root"},
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := &container{
				image: test.image,
				cfg:   &rt.ContainerConfig{Linux: &rt.LinuxContainerConfig{SecurityContext: test.sec}},
			}
			if test.archive != "-" {
				c.base = &base{root: root, config: oci.ImageConfig{User: test.archive}}
			}
			if got, err := c.user(); err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, want %+v (%v)", got, test.want, err)
			}
		})
	}
	c := &container{
		cfg: &rt.ContainerConfig{Linux: &rt.LinuxContainerConfig{SecurityContext: &security{RunAsUsername: "web"}}},
	}
	if _, err := c.user(); err == nil || !strings.Contains(err.Error(), "numeric users only") {
		t.Errorf("user name without an archive: %v", err)
	}
}

func TestEnvironmentOfAnArchive(t *testing.T) {
	c := &container{
		base: &base{
			config: oci.ImageConfig{
				Env:        []string{"PATH=/image", "A=archive", "B=archive", "C=archive"},
				WorkingDir: "/w",
				StopSignal: "SIGQUIT",
			},
		},
		image: imagemap.Image{Env: []string{"B=map", "C=map"}},
		pod:   &sandbox{cfg: &rt.PodSandboxConfig{Hostname: "pod"}},
		cfg:   &rt.ContainerConfig{Envs: []*rt.KeyValue{{Key: "C", Value: []byte("pod")}}},
	}
	if got := c.env("/srv"); !slices.Equal(
		got,
		[]string{"PATH=/image", "HOSTNAME=pod", "HOME=/srv", "A=archive", "B=map", "C=pod"},
	) {
		t.Errorf("variables: %v", got)
	}
	if got := c.workingDir(); got != "/w" {
		t.Errorf("working directory: %s", got)
	}
	if got := c.stopSignal(); got != syscall.SIGQUIT {
		t.Errorf("stop signal: %s", got)
	}
	c.base.config.StopSignal, c.cfg.WorkingDir = "12", "/pod"
	if got := c.stopSignal(); got != syscall.SIGUSR2 {
		t.Errorf("stop signal 12: %s", got)
	}
	c.cfg.StopSignal = rt.Signal_SIGHUP
	if got := c.stopSignal(); got != syscall.SIGHUP {
		t.Errorf("stop signal from the Pod: %s", got)
	}
	if got := c.workingDir(); got != "/pod" {
		t.Errorf("working directory from the Pod: %s", got)
	}
}
