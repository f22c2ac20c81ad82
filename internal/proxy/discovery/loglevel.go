package discovery

import (
	"log/slog"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Level returns a log level by the name that it has in configurations. It reports false for an unknown name.
func Level(name string) (level slog.Level, known bool) {
	level, known = config.Levels[name]
	return level, known
}
