package presubmit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Builds that take long show their progress: modules that are fetched, then the share of the packages. Those that are
// up to date print nothing, and those that fail print their output.
func TestProgressOfBuilds(t *testing.T) {
	read(t, "hack/progress.sh") // go test caches the result until this file changes
	for name, c := range map[string]struct {
		after, command string
		fails          bool
		want           []string
	}{
		"up to date": {"60", "echo one", false, nil},
		"modules": {
			"0", "echo 'go: downloading a v1'; echo 'go: downloading b v1'; until [ -e shown ]; do sleep 0.1; done", false,
			[]string{"building it … fetched 2 modules", "building it: done in "},
		},
		"packages": {"0", "echo one; echo two; until [ -e shown ]; do sleep 0.1; done", false, []string{"building it … 50 %"}},
		"failure":  {"60", "echo broken; exit 3", true, []string{"building it: failed\nbroken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script, err := filepath.Abs(filepath.Join(root, "hack/progress.sh"))
			if err != nil {
				t.Fatal(err)
			}
			command := exec.Command(script, "building it", "sh", "-c", c.command)
			command.Dir = t.TempDir()
			shown := filepath.Join(command.Dir, "shown")
			out := output{until: first(c.want), then: func() error { return os.WriteFile(shown, nil, 0o600) }}
			command.Stdout, command.Stderr = &out, &out
			command.Env = append(os.Environ(), "AFTER="+c.after, "EVERY=0", "COUNT=printf a\\nb\\nc\\nd\\n")
			if err := command.Run(); (err != nil) != c.fails {
				t.Error(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%s\nwant %q", out.String(), want)
				}
			}
			if c.want == nil && out.Len() > 0 {
				t.Errorf("got %q, want nothing", out.String())
			}
		})
	}
}

func first(all []string) string {
	if len(all) == 0 {
		return ""
	}
	return all[0]
}

// output is the output of a command. It calls a function once it contains a text.
type output struct {
	strings.Builder
	until string
	then  func() error
}

// Write implements io.Writer.
func (o *output) Write(text []byte) (int, error) {
	n, _ := o.Builder.Write(text)
	if o.then != nil && strings.Contains(o.String(), o.until) {
		then := o.then
		o.then = nil
		return n, then()
	}
	return n, nil
}
