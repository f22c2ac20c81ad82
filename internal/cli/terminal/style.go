// Package terminal formats the output of commands: colors, aligned tables and JSON.
//
// In: text and values. Out: bytes, with colors if the writer is a terminal.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style colors text and makes it fit the terminal. Its zero value does neither.
type Style struct {
	colors bool
	// columns is the width of the terminal; 0 if there is none.
	columns int
}

// StyleFor returns the style for a writer. On a terminal it has the width and colors, unless NO_COLOR is set and not
// empty (no-color.org), or TERM is dumb.
func StyleFor(w io.Writer) Style {
	f, ok := w.(*os.File)
	if !ok || !IsTerminal(w) {
		return Style{}
	}
	s := Style{colors: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.columns = columns
	}
	return s
}

// Colored returns a style with colors for any writer.
func Colored() Style { return Style{colors: true} }

// IsTerminal reports whether the writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (s Style) paint(code, text string) string {
	if !s.colors || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings and for the subject of a query.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for origins and notes.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for errors.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Green is for success.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Link makes text a link, where there are colors: terminals without links ignore it (OSC 8).
func (s Style) Link(url, text string) string {
	if !s.colors || text == "" {
		return text
	}
	return "\x1b]8;;" + url + "\x1b\\" + text + "\x1b]8;;\x1b\\"
}

// Cyan is for names.
func (s Style) Cyan(text string) string { return s.paint("36", text) }
