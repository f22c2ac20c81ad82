// Package transcript runs the commands of transcripts, and compares their output.
//
// In: archives with files and a transcript. Out: failures of tests for output that differs, or the archives with the
// output as it is.
package transcript

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
)

var update = flag.Bool("update", false, "rewrite the transcripts in testdata")

// file is the transcript in an archive.
const file = "transcript.txt"

// Test runs the archives in testdata, each as a subtest. The transcript of an archive has commands after "$ anymesh",
// their output, and their exit code in brackets if it is not 0. After "< FILE", the command reads standard input from
// the file. The commands run in a directory with the other files of the archive and links to folders, whose paths are
// relative to the test.
func Test(t *testing.T, folders ...string) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no files in testdata", err)
	}
	for i, folder := range folders {
		if folders[i], err = filepath.Abs(folder); err != nil {
			t.Fatal(err)
		}
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
			for _, folder := range folders {
				if err := os.Symlink(folder, filepath.Base(folder)); err != nil {
					t.Fatal(err)
				}
			}
			at := -1
			for i, f := range archive.Files {
				if f.Name == file {
					at = i
				} else if err := write(f); err != nil {
					t.Fatal(err)
				}
			}
			got := Run(t, string(archive.Files[at].Data))
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

// write writes a file of an archive, and makes its folder.
func write(f txtar.File) error {
	if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
		return err
	}
	return os.WriteFile(f.Name, f.Data, 0o600)
}

// Run runs the commands of a transcript and returns it with their output.
func Run(t *testing.T, transcript string) string {
	t.Helper()
	var out bytes.Buffer
	for line := range strings.Lines(transcript) {
		command, is := strings.CutPrefix(strings.TrimSpace(line), "$ anymesh ")
		if !is {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "$ anymesh %s\n", command)
		command, in, _ := strings.Cut(command, " < ")
		var input []byte
		if in != "" {
			var err error
			if input, err = os.ReadFile(in); err != nil {
				t.Fatal(err)
			}
		}
		if code := cli.Run(t.Context(), Arguments(command), bytes.NewReader(input), &out, &out); code != 0 {
			fmt.Fprintf(&out, "[%d]\n", code)
		}
	}
	return out.String()
}

var argument = regexp.MustCompile(`'[^']*'|\S+`)

// Arguments splits a command into its arguments, of which those with blanks are in single quotes.
func Arguments(command string) []string {
	var out []string
	for _, w := range argument.FindAllString(command, -1) {
		out = append(out, strings.Trim(w, "'"))
	}
	return out
}
