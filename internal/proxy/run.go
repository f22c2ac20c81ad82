package proxy

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Run runs a proxy with the configuration of a file until the context ends.
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
	p := New(ctx, log)
	p.Level, p.Version = level, version()
	if err := p.Apply(c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	log.Info("the proxy is ready", "listeners", len(c.Listeners))
	<-ctx.Done()
	p.Wait()
	return nil
}

// levels are the log levels of the configuration.
var levels = map[string]slog.Level{
	"silly": slog.LevelDebug - 4, "verbose": slog.LevelDebug, "": slog.LevelInfo, "info": slog.LevelInfo,
	"notice": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "silent": slog.LevelError + 100,
}

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
