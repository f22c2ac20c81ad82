package terminal

import (
	"bytes"
	"os"
	"strings"
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

func TestTableFitsTerminal(t *testing.T) {
	s := Style{colors: true, columns: 40}
	table := Table{Headings: []string{"NAME", "POD", "STATE"}}
	table.Row(s.Cyan("shop/cart"), s.Link("https://example.com", "shop/cart-deployment-7d9f8b6c5d-x2x4z"), "synced")
	var out bytes.Buffer
	if err := table.Write(&out, s); err != nil {
		t.Fatal(err)
	}
	want := "\x1b[2mNAME\x1b[0m       \x1b[2mPOD\x1b[0m                    \x1b[2mSTATE\x1b[0m\n" +
		"\x1b[36mshop/cart\x1b[0m  \x1b]8;;https://example.com\x1b\\shop/cart-…6c5d-x2x4z\x1b]8;;\x1b\\  synced\n"
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
	for line := range strings.Lines(out.String()) {
		if w := Width(strings.TrimSuffix(line, "\n")); w > 40 {
			t.Errorf("%q has %d columns", line, w)
		}
	}
}

// Columns that are narrow stay, even if the table is then too wide.
func TestNarrowColumnsStay(t *testing.T) {
	widths := []int{5, 30, 12}
	if fit(widths, 10); widths[0] != 5 || widths[1] != minWidth || widths[2] != 12 {
		t.Errorf("got %v", widths)
	}
	if got := shorten("größere", 4); got != "gr…e" {
		t.Errorf("got %q", got)
	}
}
