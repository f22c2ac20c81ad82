package cli

import (
	"strings"
	"testing"
)

// Options that would have no effect, or are unknown, are refused.
func TestOptionsOfProxyRun(t *testing.T) {
	for _, c := range []struct {
		want string
		args []string
	}{
		{"either --config, or --discovery and --node", nil},
		{"either --config, or --discovery and --node", []string{"--config", "f", "--admin", "s"}},
		{"set admin.log_level in the file", []string{"--config", "f", "--log-level", "debug"}},
		{`"loud" is unknown`, []string{"--discovery", "s", "--node", "n", "--log-level", "loud"}},
	} {
		code, _, stderr := runCommand(t, append([]string{"proxy", "run"}, c.args...)...)
		if code != 2 || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: exit code %d and %q, want 2 and %q", c.args, code, stderr, c.want)
		}
	}
}
