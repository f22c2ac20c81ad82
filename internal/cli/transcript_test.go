package cli_test

import (
	"os"
	"regexp"
	"testing"

	"anymesh.dev/anymesh/test/transcript"

	_ "anymesh.dev/anymesh/internal/driver/envoy"

	_ "anymesh.dev/anymesh/internal/dialect/builtin"
)

// The archives in testdata show the commands.
func TestTranscripts(t *testing.T) { transcript.Test(t, "../../examples/colors", "testdata/osm") }

// The commands in README.md print the output that README.md shows.
func TestReadmeExamples(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(\\$ anymesh .*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) == 0 {
		t.Error("README.md has no commands")
	}
	for _, b := range blocks {
		if got := transcript.Run(t, b[1]); got != b[1] {
			t.Errorf("got\n%s\nwant\n%s", got, b[1])
		}
	}
}
