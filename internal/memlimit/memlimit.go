// Package memlimit makes the garbage collector respect the memory limit of the container.
//
// In: the limit that the kubelet sets, from the environment or the cgroup. Out: the memory limit of the Go runtime,
// which does not read it.
package memlimit

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	// Variable is the environment variable with the memory limit of the container in bytes, from the downward API.
	Variable = "ANYMESH_MEMORY_LIMIT"
	// share is the part of the limit for the Go runtime, in percent. The rest is for what it does not count: pages of the
	// program, and buffers of the kernel.
	share = 90
	// unlimited is the least value that version 1 of cgroups has if there is no limit.
	unlimited = 1 << 60
)

// Set sets the memory limit of the Go runtime to 90 % of that of the container. The variable GOMEMLIMIT takes
// precedence. Without a limit of the container, it does nothing.
func Set(log *slog.Logger) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return // the runtime has read it
	}
	limit, ok := Container("/")
	if !ok {
		return
	}
	debug.SetMemoryLimit(limit / 100 * share)
	log.Info("the memory limit of the container is known", "bytes", limit)
}

// Container returns the memory limit of the container in bytes: that of the environment, or of the cgroup in the file
// system at root. It reports false if there is none.
func Container(root string) (limit int64, ok bool) {
	if limit, ok = parse(os.Getenv(Variable)); ok {
		return limit, true
	}
	// A container sees its own cgroup at the root of the hierarchy, in version 2 and in version 1.
	for _, file := range []string{"sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			continue // the other version, or another system
		}
		if limit, ok = parse(string(text)); ok {
			return limit, true
		}
	}
	return 0, false
}

// parse reads a number of bytes. The text "max" and numbers close to the maximum mean no limit.
func parse(text string) (int64, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	return n, err == nil && n > 0 && n < unlimited
}
