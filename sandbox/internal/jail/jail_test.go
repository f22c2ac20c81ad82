package jail

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestCapabilities(t *testing.T) {
	number := func(name string) uint { return uint(slices.Index(names, name)) }
	for _, test := range []struct {
		name       string
		add, drop  []string
		privileged bool
		has, lacks []string
		count      int
	}{
		{name: "default", has: []string{"NET_RAW", "CHOWN"}, lacks: []string{"NET_ADMIN", "SYS_ADMIN"}, count: len(containerDefaults)},
		{name: "add", add: []string{"NET_ADMIN"}, has: []string{"NET_ADMIN", "CHOWN"}, count: len(containerDefaults) + 1},
		{name: "prefix and case", add: []string{"CAP_net_admin"}, has: []string{"NET_ADMIN"}, count: len(containerDefaults) + 1},
		{name: "drop", drop: []string{"NET_RAW"}, lacks: []string{"NET_RAW"}, count: len(containerDefaults) - 1},
		{name: "drop all, add one", add: []string{"NET_ADMIN"}, drop: []string{"ALL"}, has: []string{"NET_ADMIN"}, count: 1},
		{name: "add all, drop one", add: []string{"ALL"}, drop: []string{"SYS_ADMIN"}, lacks: []string{"SYS_ADMIN"}, count: len(names) - 1},
		{name: "privileged", privileged: true, drop: []string{"ALL"}, has: []string{"SYS_ADMIN"}, count: len(names)},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := Capabilities(test.add, test.drop, test.privileged)
			if err != nil || len(got) != test.count {
				t.Errorf("%d capabilities, want %d: %v", len(got), test.count, err)
			}
			for _, n := range test.has {
				if !slices.Contains(got, number(n)) {
					t.Errorf("%s is missing", n)
				}
			}
			for _, n := range test.lacks {
				if slices.Contains(got, number(n)) {
					t.Errorf("unexpected %s", n)
				}
			}
		})
	}
	if _, err := Capabilities([]string{"NO_SUCH"}, nil, false); err == nil {
		t.Error("want an error for an unknown capability")
	}
}

// TestCapabilityNumbers compares some numbers with linux/capability.h.
func TestCapabilityNumbers(t *testing.T) {
	for name, want := range map[string]int{
		"CHOWN": 0, "NET_BIND_SERVICE": 10, "NET_ADMIN": 12, "NET_RAW": 13, "SYS_ADMIN": 21, "SETFCAP": 31, "BPF": 39,
		"CHECKPOINT_RESTORE": 40,
	} {
		t.Run(name, func(t *testing.T) {
			if got := slices.Index(names, name); got != want {
				t.Errorf("%s is %d, want %d", name, got, want)
			}
		})
	}
}

// TestWithin checks that links in a container root are resolved inside the root.
func TestWithin(t *testing.T) {
	root := t.TempDir()
	for link, target := range map[string]string{
		"var/run": "/run", "up": "../../../..", "bin": "usr/bin", "loop": "loop", "chain": "var/run/x", "abs": root + "/usr",
	} {
		path := filepath.Join(root, link)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"/etc/hosts":        "/etc/hosts",
		"/var/run/secrets":  "/run/secrets",
		"/bin/sh":           "/usr/bin/sh",
		"/up/etc/passwd":    "/etc/passwd",
		"/../../etc":        "/etc",
		"/chain/y":          "/run/x/y",
		"/abs":              root + "/usr",
		"/":                 "/",
		"/not/there/at/all": "/not/there/at/all",
	} {
		t.Run(path, func(t *testing.T) {
			got, err := within(root, path)
			if err != nil || got != filepath.Join(root, want) {
				t.Errorf("got %s %v, want %s", got, err, filepath.Join(root, want))
			}
		})
	}
	if got, err := within(root, "/loop/x"); err == nil {
		t.Errorf("link loop resolves to %s", got)
	}
}

func FuzzWithin(f *testing.F) {
	f.Add("/a/b", "..")
	f.Add("/../../x", "/x/../..")
	f.Fuzz(func(t *testing.T, path, target string) {
		root := filepath.Join(t.TempDir(), "root")
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		_ = os.Symlink(target, filepath.Join(root, "a")) // some texts are invalid targets
		got, err := within(root, path)
		if err != nil {
			return
		}
		if rel, err := filepath.Rel(root, got); err != nil || rel == ".." || len(rel) > 2 && rel[:3] == "../" {
			t.Errorf("within(%q) with a -> %q leaves the root: %s", path, target, got)
		}
	})
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prog"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "data"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=/nowhere:" + dir}
	if got, err := lookPath("prog", env); err != nil || got != filepath.Join(dir, "prog") {
		t.Errorf("got %s %v", got, err)
	}
	for _, name := range []string{"data", "nothing"} {
		if got, err := lookPath(name, env); err == nil {
			t.Errorf("%s: found %s", name, got)
		}
	}
	if got, err := lookPath("./x", env); err != nil || got != "./x" {
		t.Errorf("path with a slash: %s %v", got, err)
	}
}
