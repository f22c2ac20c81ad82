package presubmit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// passesAndFails has the place of the command go: it lists a package, and its tests do not end until the file "shown"
// exists (or for 20 seconds).
const passesAndFails = `#!/bin/sh
[ "$1" = test ] || { echo m/x/p; exit; }
event() { echo '{"Action":"'$1'","Package":"m/x/p","Test":"'$2'"}'; }
event start; event run TestGood; event pass TestGood
event run TestBad; event run TestBad/sub; event fail TestBad/sub; event fail TestBad
for i in $(seq 200); do [ ! -e "$SHOWN" ] || break; sleep 0.1; done
event fail; exit 1
`

// A run of tests names a test that fails at once, and says what runs, before any part of it ends. A terminal has one
// line that is rewritten.
func TestProgressOfTests(t *testing.T) {
	for _, file := range []string{"hack/test.sh", "hack/testprogress.py"} {
		read(t, file) // go test caches the result until these files change
	}
	script, err := filepath.Abs(filepath.Join(root, "hack/test.sh"))
	if err != nil {
		t.Fatal(err)
	}
	const terminal = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)"
	for name, c := range map[string]struct {
		command []string
		want    string
	}{
		"log":      {[]string{script, "unit"}, "cases: 1 passed, 2 failed; pages, rules and pure code: 1 passed, 2 failed\n"},
		"terminal": {[]string{"python3", "-c", terminal, script, "unit"}, "cases + pages, rules and pure code: 2 passed, 4 failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			shown := filepath.Join(folder, "shown")
			if err := os.WriteFile(filepath.Join(folder, "go"), []byte(passesAndFails), 0o700); err != nil {
				t.Fatal(err)
			}
			before := ""
			out := output{until: c.want}
			out.then = func() error { before = out.String(); return os.WriteFile(shown, nil, 0o600) }
			command := exec.CommandContext(t.Context(), c.command[0], c.command[1:]...)
			command.Stdout, command.Stderr = &out, &out
			command.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "SHOWN="+shown, "EVERY=0", "COLUMNS=120")
			if err := command.Run(); err == nil {
				t.Error("the run did not fail")
			}
			if strings.Count(before, "failed: p.TestBad/sub") != 2 || strings.Contains(before, "==") {
				t.Errorf("got before any part ended:\n%s\nwant %q and the failure of each part\n%s", before, c.want, out.String())
			}
			if !strings.Contains(out.String(), "== cases") {
				t.Errorf("got\n%s\nwant a summary of the cases", out.String())
			}
		})
	}
}
