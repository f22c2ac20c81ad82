package cli_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"anymesh.dev/anymesh/internal/cli"

	_ "anymesh.dev/anymesh/internal/driver/envoy"

	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

var update = flag.Bool("update", false, "rewrite the sessions in testdata")

const sessionFile = "session.txt"

// Each file of testdata is a session: commands after "$ anymesh", what they print, and their exit code in brackets if
// it is not 0. They run in a folder with the other files of the archive and the example colors.
func TestSessions(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no testdata", err)
	}
	colors, err := filepath.Abs("../../examples/colors")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			name, err := filepath.Abs(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			if err := os.Symlink(colors, "colors"); err != nil {
				t.Fatal(err)
			}
			at := -1
			for i, f := range archive.Files {
				if f.Name == sessionFile {
					at = i
				} else if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			got := play(t, string(archive.Files[at].Data))
			if *update {
				archive.Files[at].Data = []byte(got)
				if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if got != string(archive.Files[at].Data) {
				t.Errorf("got\n%s\nwant\n%s", got, archive.Files[at].Data)
			}
		})
	}
}

// play runs the commands of a session and gives it with what they print.
func play(t *testing.T, session string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(session) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ anymesh ")
		if !is {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "$ anymesh %s\n", command)
		if code := cli.Run(t.Context(), words(command), strings.NewReader(""), &out, &out); code != 0 {
			fmt.Fprintf(&out, "[%d]\n", code)
		}
	}
	return out.String()
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

func words(command string) []string {
	var out []string
	for _, w := range word.FindAllString(command, -1) {
		out = append(out, strings.Trim(w, "'"))
	}
	return out
}

// The commands in README.md must print the output that README.md shows.
func TestReadmeExamples(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(\\$ anymesh .*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Error("the README shows nothing")
	}
	for _, b := range blocks {
		if got := play(t, b[1]); got != b[1] {
			t.Errorf("got\n%s\nwant\n%s", got, b[1])
		}
	}
}
