package discovery

import (
	"log/slog"
	"strings"
	"testing"
)

// TestLogLevel checks that a request changes the level of the log while the proxy runs, and that an unknown one does
// not.
func TestLogLevel(t *testing.T) {
	var out strings.Builder
	o := Options{Level: new(slog.LevelVar)}
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: o.Level}))
	do := o.actions(nil, log)
	for _, c := range []struct {
		level string
		known bool
		want  slog.Level
	}{
		{"error", true, slog.LevelError}, {"debug", true, slog.LevelDebug}, {"loud", false, slog.LevelDebug},
		{"warning", true, slog.LevelWarn},
	} {
		if known := do.SetLevel(c.level); known != c.known || o.Level.Level() != c.want {
			t.Errorf("%s: known %t, level %s", c.level, known, o.Level.Level())
		}
	}
	if got := strings.Count(out.String(), "level=DEBUG"); got != 1 {
		t.Errorf("%d debug lines, want that of the level debug:\n%s", got, &out)
	}
	if (Options{}).actions(nil, log).SetLevel != nil {
		t.Error("a level that cannot change can be set")
	}
}
