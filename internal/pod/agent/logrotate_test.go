package agent

import (
	"bytes"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/identity"
)

// contents returns the files of a folder with the first letter of each, in order of their names.
func contents(t *testing.T, dir string) string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, path))
		all[path] = string(text[:min(len(text), 1)])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, name+"="+all[name])
	}
	return strings.Join(out, " ")
}

func TestRotateKeepsSomeFiles(t *testing.T) {
	dir := t.TempDir()
	l := &accessLog{file: filepath.Join(dir, "link"), target: filepath.Join(dir, "a.log"), log: slog.New(slog.DiscardHandler)}
	if err := l.link(); err != nil {
		t.Fatal(err)
	}
	limits := logLimits{size: 4, renamed: 2}
	for i, step := range []struct{ write, want string }{
		{"", ""}, // the proxy has not opened the file
		{"a", "a.log=a link=a"},
		{"aaaa", "a.log.1=a"},
		{"bbbb", "a.log.1=b a.log.2=a"},
		{"cccc", "a.log.1=c a.log.2=b"},
	} {
		if step.write != "" {
			if err := os.WriteFile(l.file, []byte(step.write), 0o600); err != nil { // through the link
				t.Fatal(err)
			}
		}
		reopened := 0
		if err := l.rotate(limits, func() { reopened++ }); err != nil {
			t.Fatal(err)
		}
		os.Remove(l.file) // a link without a target
		if got := contents(t, dir); got != strings.TrimSuffix(step.want, " link=a") {
			t.Errorf("step %d: got %q, want %q", i, got, step.want)
		}
		if want := len(step.write) / 4; reopened != want {
			t.Errorf("step %d: reopened %d times, want %d", i, reopened, want)
		}
		if err := l.link(); err != nil {
			t.Fatal(err)
		}
	}
}

// Without a folder that it can write, the file stays where the proxy opens it.
func TestLinkNeedsFolder(t *testing.T) {
	dir := t.TempDir()
	var log bytes.Buffer
	l := &accessLog{
		file: filepath.Join(dir, "access.log"), target: filepath.Join(dir, "no-folder", "a.log"),
		log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	if err := os.WriteFile(filepath.Join(dir, "no-folder"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.link(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(l.file); err == nil {
			t.Error("the link exists")
		}
	}
	if !strings.Contains(log.String(), "no-folder/a.log") || l.limits() != memoryLimits {
		t.Errorf("got limits %v, log %s", l.limits(), log.String())
	}
}

// The agent links the file before it starts the proxy, and sends a signal when the file is too large.
func TestAgentRotatesAccessLog(t *testing.T) {
	p := newPod(t, "good", identity.HandlerOptions{})
	logs := t.TempDir()
	link, target := filepath.Join(p.certs, "access.log"), filepath.Join(logs, "a.log")
	r := p.start(t, "0", "--access-log", link, "--access-log-target", target)
	eventually(t, "the proxy starts", func() bool { return r.logged("started") })
	if now, err := os.Readlink(link); err != nil || now != target {
		t.Fatalf("got link to %q, %v", now, err)
	}
	if err := os.WriteFile(link, make([]byte, diskLimits.size), 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the proxy gets the signal", func() bool { return r.logged("user defined signal 1") })
	if got := contents(t, logs); got != "a.log.1=\x00" {
		t.Errorf("got files %q", got)
	}
}
