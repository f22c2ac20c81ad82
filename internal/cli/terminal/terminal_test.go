package terminal

import (
	"bytes"
	"os"
	"testing"
)

func TestTableIgnoresColorWidth(t *testing.T) {
	s := Colored()
	table := Table{Indent: "  ", Headings: []string{"NAME", "SHARE"}}
	table.Row(s.Red("blue"), "25%")
	table.Row("größer", "")
	var out bytes.Buffer
	if err := table.Write(&out, Style{}); err != nil {
		t.Fatal(err)
	}
	want := "  NAME    SHARE\n  \x1b[31mblue\x1b[0m    25%\n  größer\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestColorsOnTerminalsOnly(t *testing.T) {
	if text := StyleFor(&bytes.Buffer{}).Red("x"); text != "x" {
		t.Errorf("buffer: got %q, want no colors", text)
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if text := StyleFor(file).Bold("x"); text != "x" {
		t.Errorf("file: got %q, want no colors", text)
	}
	if text := Colored().Bold(""); text != "" {
		t.Errorf("empty text: got %q", text)
	}
}

func TestCheckFormat(t *testing.T) {
	if err := CheckFormat("json", "table", "json"); err != nil {
		t.Error(err)
	}
	if err := CheckFormat("yaml", "table", "json"); err == nil || err.Error() != `--output "yaml": use table, json` {
		t.Errorf("got %v", err)
	}
}
