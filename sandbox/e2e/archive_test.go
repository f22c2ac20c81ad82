package e2e

import (
	"archive/tar"
	"encoding/json"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"

	oci "github.com/opencontainers/image-spec/specs-go/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"anymesh.dev/anymesh/sandbox/internal/ociimage/ocitest"
)

// writeArchive writes the image example.com/packed: the test program, users, and a folder that a second layer
// changes.
func writeArchive(app, file string) error {
	program, err := os.ReadFile(app)
	if err != nil {
		return err
	}
	owned := func(h *tar.Header) *tar.Header {
		h.Uid, h.Gid = 1234, 1235
		return h
	}
	a := ocitest.New()
	return a.Write(file, a.AddImage(runtime.GOARCH, oci.ImageConfig{
		Entrypoint: []string{"/sbin/testapp"}, Cmd: []string{"-http=:8080"}, User: "app", WorkingDir: "/data",
		Env: []string{"FROM=image", "KEPT=yes", "PATH=/bin"},
	}, ocitest.Tar(
		ocitest.File("bin/testapp", string(program)), ocitest.Symlink("sbin", "/bin"),
		ocitest.File("etc/passwd", "app:x:1234:1235::/srv:\n"),
		ocitest.File("etc/group", "app:x:1235:\nextra:x:77:app\n"),
		owned(ocitest.Dir("data")), ocitest.File("data/old", ""),
	), ocitest.Tar(
		ocitest.File("data/.wh.old", ""), ocitest.File("data/new", ""), ocitest.File("sbin/second", ""),
	)))
}

func packed(name string) corev1.Container {
	return corev1.Container{Name: name, Image: "example.com/packed:v1", ReadinessProbe: httpProbe("/healthz")}
}

// TestArchive checks that a Pod with an OCI archive has the files of the archive and runs as its configuration
// specifies.
func TestArchive(t *testing.T) {
	c := shared.clusters[0]
	ns := c.namespace(t)
	one := c.ready(t, ns, pod("one", packed("packed")))
	two := c.ready(t, ns, pod("two", packed("packed")))

	type self struct {
		UID, GID int
		Groups   []int
		Dir      string
		Args     []string
		Env      []string
	}
	about := func(p *corev1.Pod) self {
		t.Helper()
		var got self
		if err := json.Unmarshal([]byte(c.mustAsk(t, p, "self")), &got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := about(one)
	for _, want := range []string{"FROM=image", "KEPT=yes", "HOME=/srv", "PATH=/bin", "HOSTNAME=one"} {
		if !slices.Contains(got.Env, want) {
			t.Errorf("missing %s in %v", want, got.Env)
		}
	}
	got.Env = nil
	if want := (self{1234, 1235, []int{77}, "/data", []string{"/sbin/testapp", "-http=:8080"}, nil}); !reflect.DeepEqual(
		got,
		want,
	) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := c.mustAsk(t, one, "list", "dir", "/"); got != "bin data dev etc proc run sbin sys tmp var" {
		t.Errorf("folders in the root: %q, want those of the image, those of the kernel, and /var for the ServiceAccount", got)
	}

	// The image is shared, changes are not.
	c.mustAsk(t, one, "write", "file", "/data/mine")
	for p, want := range map[*corev1.Pod]string{one: "mine new", two: "new"} {
		if got := c.mustAsk(t, p, "list", "dir", "/data"); got != want {
			t.Errorf("Pod %s: files in /data: %q, want %q", p.Name, got, want)
		}
	}
	c.kubectl(t, "-n", ns, "exec", "one", "--", "testapp", "-h") // found in the PATH of the image

	other := packed("packed")
	other.Args, other.WorkingDir = []string{"-http=:8080", "-grpc=:9090"}, "/tmp"
	other.Env = []corev1.EnvVar{{Name: "FROM", Value: "pod"}}
	other.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To(int64(5)), RunAsGroup: ptr.To(int64(6))}
	got = about(c.ready(t, ns, pod("other", other)))
	if got.UID != 5 || got.GID != 6 || got.Dir != "/tmp" || len(got.Args) != 3 ||
		!slices.Contains(got.Env, "FROM=pod") ||
		!slices.Contains(got.Env, "KEPT=yes") {
		t.Errorf("settings of the Pod: got %+v", got)
	}
}
