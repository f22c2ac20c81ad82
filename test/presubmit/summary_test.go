package presubmit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The summary of a test run names the tests that failed and those that never ended, with their output, and does not say
// that nothing failed if the run failed.
func TestSummaryOfTests(t *testing.T) {
	read(t, "hack/summary.py") // go test caches the result until this file changes
	event := func(action, test, text string) string {
		return fmt.Sprintf(`{"Action":%q,"Package":"m/x/p","Test":%q,"Output":%q,"Elapsed":1}`+"\n", action, test, text)
	}
	good := event("start", "", "") + event("run", "TestGood", "") + event("output", "TestGood", "quiet\n") + event("pass", "TestGood", "")
	hung := event("run", "TestHung", "") + event("run", "TestHung/sub", "") + event("output", "TestHung/sub", "waiting for a channel\n")
	for name, c := range map[string]struct {
		events string
		code   int
		counts string
		want   []string
		not    string
	}{
		"passed": {good + event("pass", "", ""), 0, "1 passed, 0 failed, 0 skipped", nil, "quiet"},
		"failed": {
			good + event("run", "TestBad", "") + event("output", "TestBad", "got 1, want 2\n") + event("fail", "TestBad", "") + event("fail", "", ""), 1,
			"1 passed, 1 failed, 0 skipped", []string{"got 1, want 2"}, "quiet",
		},
		"never ended": {
			good + hung + event("output", "", "panic: test timed out after 30m0s\n") + event("fail", "", ""), 1,
			"1 passed, 1 failed, 0 skipped; 1 never ended",
			[]string{"never ended: p.TestHung/sub\nwaiting for a channel\n", "panic: test timed out after 30m0s"}, "quiet",
		},
		"killed":   {good + hung, 137, "1 passed, 1 failed, 0 skipped; 1 never ended", []string{"never ended: p.TestHung/sub"}, "quiet"},
		"package":  {good + event("output", "", "panic: in TestMain\n") + event("fail", "", ""), 1, "1 passed, 1 failed, 0 skipped", []string{"in TestMain"}, "quiet"},
		"compiler": {good + event("pass", "", "") + "go: cannot find main module\n", 1, "1 passed, 1 failed, 0 skipped", []string{"cannot find main module", "code 1"}, "quiet"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "events")
			if err := os.WriteFile(file, []byte(c.events), 0o600); err != nil {
				t.Fatal(err)
			}
			script := filepath.Join(root, "hack/summary.py")
			counts, err := exec.CommandContext(t.Context(), "python3", script, "--counts", file, fmt.Sprint(c.code)).Output()
			if err != nil || strings.TrimSpace(string(counts)) != c.counts {
				t.Errorf("counts %q, %v; want %q", counts, err, c.counts)
			}
			text, err := exec.CommandContext(t.Context(), "python3", script, file, fmt.Sprint(c.code)).Output()
			if (err != nil) != (c.code != 0) {
				t.Errorf("code %d: %v", c.code, err)
			}
			for _, want := range append(c.want, c.counts) {
				if !strings.Contains(string(text), want) {
					t.Errorf("got\n%s\nwant %q", text, want)
				}
			}
			if strings.Contains(string(text), c.not) {
				t.Errorf("got the output of a test that passed:\n%s", text)
			}
		})
	}
}
