package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestUsageErrors checks that invalid commands are rejected with an explanation.
func TestUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"up", "--images", mapFile}, "is already running"},
		{[]string{"up", "--clusters=99"}, "--clusters=99"},
		{[]string{"up", "--name=Bad_Name"}, "lab name"},
		{[]string{"up", "--images=/no/such/file"}, "image map"},
		{[]string{"exec", "--cluster=c9", "--", "true"}, `no cluster "c9"`},
	} {
		t.Run(strings.Join(test.args, " "), func(t *testing.T) {
			if _, err := shared.run(test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("want an error with %q, got %v", test.want, err)
			}
		})
	}
	elsewhere := &labUnderTest{dir: t.TempDir()}
	if _, err := elsewhere.run("status"); err == nil || !strings.Contains(err.Error(), "no sandbox") {
		t.Errorf("status without a sandbox: %v", err)
	}
}

func TestStatusAndImages(t *testing.T) {
	if shared.status.Phase != "Ready" || len(shared.status.Clusters) != 2 || shared.status.Clusters[0].API != "ok" {
		t.Errorf("status %+v", shared.status)
	}
	out, err := shared.run("images", "--output=json")
	if err != nil {
		t.Fatal(err)
	}
	var images []struct{ Name, Source string }
	if err := json.Unmarshal([]byte(out), &images); err != nil || len(images) != 3 {
		t.Errorf("%v: %s", err, out)
	}
}

// TestExecOnNode checks that exec runs a command in the node network with the streams of the caller and returns its
// exit status.
func TestExecOnNode(t *testing.T) {
	out, err := shared.run("exec", "--cluster", "c2", "--", "sh", "-c", "ip -o -4 addr show eth0; exit 5")
	if !strings.Contains(out, "10.39.2.2/24") {
		t.Errorf("got %q", out)
	}
	if err == nil || !strings.Contains(err.Error(), "exit status 5") {
		t.Errorf("want exit status 5: %v", err)
	}
}

// TestOrphansAreReaped checks that the first process of the lab reaps orphans.
func TestOrphansAreReaped(t *testing.T) {
	const mark = "0.31536"
	if _, err := shared.run("exec", "--", "sh", "-c", "(sleep "+mark+" &) ; (sleep "+mark+" &)"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no zombies", func(context.Context) error {
		out, err := command("ps", "-eww", "-o", "pid,ppid,stat,args")
		if err != nil {
			return err
		}
		first := ""
		for line := range strings.Lines(out) {
			if strings.Contains(line, "inside --dir "+shared.dir) {
				first = strings.Fields(line)[0]
			}
		}
		if first == "" {
			return errors.New("the first process of the lab was not found:\n" + out)
		}
		for line := range strings.Lines(out) {
			f := strings.Fields(line)
			if f[1] == first && (strings.HasPrefix(f[2], "Z") || strings.Contains(line, mark)) {
				return errors.New("process still exists: " + line)
			}
		}
		return nil
	})
}

// TestAPIServerOnly checks that a lab without nodes has an API server, and that nothing acts on its objects.
func TestAPIServerOnly(t *testing.T) {
	lab := &labUnderTest{dir: filepath.Join(scratch, "bare")}
	if out, err := lab.up("--api-server-only"); err != nil {
		t.Fatal(err, out)
	}
	defer lab.run("down")
	if err := lab.connect(); err != nil {
		t.Fatal(err)
	}
	client := lab.clusters[0].client.CoreV1()
	nodes, err := client.Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) > 0 {
		t.Errorf("%d nodes, %v", len(nodes.Items), err)
	}
	accounts, err := client.ServiceAccounts("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(accounts.Items) > 0 {
		t.Errorf("a controller made %d ServiceAccounts, %v", len(accounts.Items), err)
	}
}

// TestKillLeavesNothing checks that a killed lab leaves no process, mount or network device, that "down" removes its
// files, and that a new lab can be started there.
func TestKillLeavesNothing(t *testing.T) {
	lab := &labUnderTest{dir: filepath.Join(scratch, "killed")}
	links := hostLinks(t)
	if out, err := lab.up(); err != nil {
		t.Fatal(err, out)
	}
	defer lab.run("down")
	if err := lab.connect(); err != nil {
		t.Fatal(err)
	}
	c := lab.clusters[0]
	mark := "31536777"
	c.ready(t, c.namespace(t), pod("sleeps", shell("sleeps", "setsid sleep "+mark+" & sleep 31536000")))
	eventually(t, "the Pod's process", func(context.Context) error {
		return wantf(strings.Contains(hostProcesses(t), mark), "it is not running")
	})
	inside := namespacesOf(t, lab.dir)
	if len(inside) == 0 {
		t.Fatal("no namespaces of the lab found")
	}
	if err := syscall.Kill(lab.status.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "cleanup", func(context.Context) error {
		if ps := hostProcesses(t); strings.Contains(ps, mark) || strings.Contains(ps, lab.dir) {
			return errors.New("remaining processes: " + ps)
		}
		if left := remainingNamespaces(t, inside); len(left) > 0 {
			return errors.New("remaining namespaces: " + strings.Join(left, " "))
		}
		return wantf(hostLinks(t) == links, "network devices: %s", hostLinks(t))
	})
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), lab.dir) {
		t.Errorf("remaining mounts: %s %v", mounts, err)
	}
	if out, err := lab.run("status"); err == nil || !strings.Contains(out, "Dead") {
		t.Errorf("status: %q %v", out, err)
	}
	if _, err := lab.run("down"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(lab.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the state folder was not removed: %v", err)
	}
}

func hostLinks(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir("/sys/class/net")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// namespacesOf returns the network and PID namespaces of all processes of the lab.
func namespacesOf(t *testing.T, dir string) map[string]bool {
	t.Helper()
	mine := map[string]bool{}
	own := map[string]bool{}
	for _, kind := range []string{"net", "pid", "mnt"} {
		link, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			t.Fatal(err)
		}
		own[link] = true
	}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		cmdline, _ := os.ReadFile(p + "/cmdline")
		if !strings.Contains(string(cmdline), dir) && !strings.Contains(string(cmdline), "31536777") {
			continue
		}
		for _, kind := range []string{"net", "pid", "mnt"} {
			if link, err := os.Readlink(p + "/ns/" + kind); err == nil && !own[link] {
				mine[link] = true
			}
		}
	}
	return mine
}

func remainingNamespaces(t *testing.T, namespaces map[string]bool) []string {
	t.Helper()
	var left []string
	links, _ := filepath.Glob("/proc/[0-9]*/ns/*")
	for _, l := range links {
		if link, err := os.Readlink(l); err == nil && namespaces[link] {
			left = append(left, link)
		}
	}
	return left
}

// TestUserNamespace checks that Pods work in a user namespace, started by root and by a user with only one ID.
func TestUserNamespace(t *testing.T) {
	t.Run("root", func(t *testing.T) {
		testUserNamespace(t, &labUnderTest{dir: filepath.Join(scratch, "userns")})
	})
	t.Run("nobody", func(t *testing.T) {
		const nobody = 65534
		home := filepath.Join(scratch, "home")
		if os.Getuid() != 0 {
			t.Skip("requires root to change the user")
		}
		if err := errors.Join(os.Mkdir(home, 0o700), os.Chown(home, nobody, nobody),
			os.Chmod(scratch, 0o755)); err != nil {
			t.Fatal(err)
		}
		testUserNamespace(t, &labUnderTest{
			dir:    filepath.Join(home, "lab"),
			prefix: []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"},
		})
	})
}

func testUserNamespace(t *testing.T, lab *labUnderTest) {
	if out, err := lab.up("--userns"); err != nil {
		t.Fatal(err, out)
	}
	defer lab.run("down")
	if err := lab.connect(); err != nil {
		t.Fatal(err)
	}
	c := lab.clusters[0]
	ns := c.namespace(t)
	box := shell("box", "id -u; touch /etc/x && echo wrote; cat /mnt/not/there/a; grep '^CapEff' /proc/self/status")
	box.VolumeMounts = []corev1.VolumeMount{mount("data", "/mnt/not/there")}
	p := pod("box", box)
	prepare := shell("prepare", "echo data > /mnt/not/there/a")
	prepare.VolumeMounts = box.VolumeMounts
	p.Spec.InitContainers = append(p.Spec.InitContainers, prepare)
	p.Spec.Volumes = append(p.Spec.Volumes,
		volume("data", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}))
	if got := c.succeeded(t, ns, p); got != "0\nwrote\ndata\nCapEff:\t00000000a80425fb\n" {
		t.Errorf("got %q", got)
	}
	served := c.ready(t, ns, pod("app", app("app")))
	if got := c.mustAsk(t, served, "get", "url", podURL(served.Status.PodIPs[1].IP, "peer")); got == "" {
		t.Error("no response over IPv6")
	}
	if got := c.kubectl(t, "-n", ns, "exec", "app", "--", "hostname"); got != "app\n" {
		t.Errorf("got %q", got)
	}
	inArchive := packed("packed")
	inArchive.SecurityContext = &corev1.SecurityContext{RunAsUser: ptr.To(int64(0))} // the only mapped ID
	unpacked := c.ready(t, ns, pod("packed", inArchive))
	c.mustAsk(t, unpacked, "write", "file", "/data/mine")
	if got := c.mustAsk(t, unpacked, "list", "dir", "/data"); got != "mine new" {
		t.Errorf("files in /data: %q", got)
	}
}
