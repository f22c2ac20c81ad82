package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// accessLog is the access log of the proxy. Its size is limited: a file that is too large is renamed to FILE.1, an
// earlier FILE.1 to FILE.2 and so on, and the proxy opens a new one.
type accessLog struct {
	// file is the name that the proxy opens. It is a link to target, unless target is empty.
	file, target string
	log          *slog.Logger
	failed       bool // the last rotation
}

// logLimits are the limits of the files of an access log: bytes before a file is renamed, and renamed files.
type logLimits struct {
	size    int64
	renamed int
}

// Without a target, the file is in memory.
var (
	diskLimits   = logLimits{size: 10 << 20, renamed: 3}
	memoryLimits = logLimits{size: 1 << 20, renamed: 1}
)

// logCheckInterval is the interval between two checks of the size. Until then, a file may grow beyond its limit.
const logCheckInterval = 2 * time.Second

// link links the file to the target. If the target cannot be written, the file stays in its own folder, because a proxy
// may reject all its configuration if it cannot open the file.
func (l *accessLog) link() error {
	if l.target != "" {
		folder := filepath.Dir(l.target)
		if err := cmp.Or(os.MkdirAll(folder, 0o755), unix.Access(folder, unix.W_OK)); err != nil {
			l.log.Warn("the folder of the access log cannot be written; another file is used", "file", l.target,
				"used", l.file, "error", err)
			l.target = ""
		}
	}
	if l.target != "" {
		if err := os.Remove(l.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return os.Symlink(l.target, l.file)
	}
	if _, err := os.Readlink(l.file); err == nil { // of an earlier agent in this pod
		return os.Remove(l.file)
	}
	return nil
}

// watch limits the size of the file until the context ends. reopen makes the proxy open the file again.
func (l *accessLog) watch(ctx context.Context, reopen func()) {
	tick := time.NewTicker(logCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			err := l.rotate(l.limits(), reopen)
			if err != nil && !l.failed {
				l.log.Warn("the access log is not rotated", "error", err)
			}
			l.failed = err != nil
		}
	}
}

func (l *accessLog) limits() logLimits {
	if l.target == "" {
		return memoryLimits
	}
	return diskLimits
}

// rotate renames the file if it is too large, and removes the oldest one.
func (l *accessLog) rotate(limits logLimits, reopen func()) error {
	name := l.file
	if l.target != "" {
		name = l.target
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (info.Size() < limits.size || !info.Mode().IsRegular()) {
		return nil
	}
	if err != nil {
		return err
	}
	for i := limits.renamed; i > 0; i-- {
		older := name
		if i > 1 {
			older = numbered(name, i-1)
		}
		if err := os.Rename(older, numbered(name, i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	reopen()
	return nil
}

func numbered(name string, i int) string { return name + "." + strconv.Itoa(i) }

// prepareAccessLog makes the access log ready for the proxy; nil if it has none.
func (a *agent) prepareAccessLog() (*accessLog, error) {
	if a.AccessLog == "" {
		return nil, nil
	}
	l := &accessLog{file: a.AccessLog, target: a.AccessLogTarget, log: a.Logger}
	if err := l.link(); err != nil {
		return nil, fmt.Errorf("agent: access log: %w", err)
	}
	// A file that was too large when an earlier proxy ended is renamed before this one opens it: without a large file, the
	// signal is not sent before the proxy handles it.
	if err := l.rotate(l.limits(), func() {}); err != nil {
		a.Logger.Warn("the access log is not rotated", "error", err)
	}
	return l, nil
}

// watchAccessLog limits the size of the access log while the proxy runs.
func (a *agent) watchAccessLog(ctx context.Context, l *accessLog) {
	if l != nil {
		l.watch(ctx, func() { a.proxy.Load().signal(syscall.SIGUSR1) })
	}
}
