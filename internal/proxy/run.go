package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// drainTime is how long sessions and requests may go on after the context of Run has ended.
const drainTime = 10 * time.Second

// Run runs a proxy with the configuration of a file until the context ends. Then it accepts nothing more, and returns
// when the sessions and requests have ended, or after 10 seconds.
func Run(ctx context.Context, file string) error {
	c, err := config.Load(file)
	if err != nil {
		return err
	}
	level := new(slog.LevelVar)
	log, closeLog, err := logger(c.Admin, level)
	if err != nil {
		return fmt.Errorf("%s: admin.log_file: %w", file, err)
	}
	defer closeLog()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p := New(running, log)
	p.Level, p.Version = level, version()
	if err := p.Apply(c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	log.Info("the proxy is ready", "listeners", len(c.Listeners))
	<-ctx.Done()
	limit, cancel := context.WithTimeout(running, drainTime)
	defer cancel()
	p.Drain(limit)
	stop()
	p.Wait()
	return nil
}

// Retire asks clients to leave: HTTP connections end after their next request. Everything is still served.
func (p *Proxy) Retire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retiring = true
	for _, l := range p.listeners {
		l.retire()
	}
}

// Drain makes listeners accept nothing more, and waits until the sessions and requests have ended, or the context has.
func (p *Proxy) Drain(ctx context.Context) {
	p.mu.Lock()
	all := make([]*listener, 0, len(p.listeners))
	for _, l := range p.listeners {
		l.stop()
		all = append(all, l)
	}
	p.mu.Unlock()
	tick := time.NewTicker(drainPoll)
	defer tick.Stop()
	for {
		busy := p.sessions.Active()
		for _, l := range all {
			if l.http != nil {
				busy += l.http.Connections()
			}
		}
		if busy == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// drainPoll is the time between checks of what has not ended.
const drainPoll = 20 * time.Millisecond

func logger(a *config.Admin, level *slog.LevelVar) (log *slog.Logger, closeLog func(), err error) {
	if a == nil {
		a = &config.Admin{}
	}
	closeLog = func() {}
	var out io.Writer
	switch a.LogFile {
	case "", "stderr":
		out = os.Stderr
	case "stdout":
		out = os.Stdout
	default:
		file, err := os.OpenFile(a.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, nil, err
		}
		out, closeLog = file, func() { _ = file.Close() } // a log
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})), closeLog, nil
}

// version returns the version of the module, or the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
