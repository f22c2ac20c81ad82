package memlimit

import (
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestContainer(t *testing.T) {
	for name, c := range map[string]struct {
		env, file, text string
		want            int64
	}{
		"nothing":                    {"", "", "", 0},
		"environment":                {"1073741824", "memory.max", "1000", 1 << 30},
		"version 2":                  {"", "memory.max", "536870912\n", 512 << 20},
		"version 2, no limit":        {"", "memory.max", "max\n", 0},
		"version 1":                  {"", "memory/memory.limit_in_bytes", "536870912\n", 512 << 20},
		"version 1, no limit":        {"", "memory/memory.limit_in_bytes", "9223372036854771712\n", 0},
		"environment without number": {"1Gi", "memory.max", "1000", 1000},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			t.Setenv(Variable, c.env)
			if c.file != "" {
				path := filepath.Join(root, "sys/fs/cgroup", c.file)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, ok := Container(root); got != c.want && ok || ok != (c.want > 0) {
				t.Errorf("got %d (%v), want %d", got, ok, c.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv(Variable, "1000000000")
	t.Setenv("GOMEMLIMIT", "2GiB")
	debug.SetMemoryLimit(math.MaxInt64)
	Set(slog.New(slog.DiscardHandler))
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("with GOMEMLIMIT: got %d", got)
	}
	t.Setenv("GOMEMLIMIT", "")
	Set(slog.New(slog.DiscardHandler))
	if got := debug.SetMemoryLimit(-1); got != 900_000_000 {
		t.Errorf("got %d, want 90 %% of the limit", got)
	}
}
