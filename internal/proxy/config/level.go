package config

import "log/slog"

// Levels are the log levels by name: those of l7mp, and those of Envoy, which annotations of pods have. Empty is info.
var Levels = map[string]slog.Level{
	"silly": slog.LevelDebug - 4, "verbose": slog.LevelDebug, "": slog.LevelInfo, "info": slog.LevelInfo,
	"notice": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "silent": slog.LevelError + 100,

	"trace": slog.LevelDebug - 4, "debug": slog.LevelDebug, "warning": slog.LevelWarn,
	"critical": slog.LevelError + 100, "off": slog.LevelError + 100,
}
