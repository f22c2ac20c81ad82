// Package terminal is how results look: colours, aligned tables and the formats in which verbs answer.
//
// In: texts and values. Out: bytes for a terminal, with colours, or for anything else, without. Nothing here knows what is shown.
package terminal

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style paints texts. Its zero value leaves them as they are.
type Style struct{ colours bool }

// StyleFor gives the style for a writer: colours on a terminal, unless the environment has a NO_COLOR that is not empty
// (no-color.org) or TERM is dumb.
func StyleFor(w io.Writer) Style {
	return Style{colours: IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Coloured gives a style that paints wherever it goes.
func Coloured() Style { return Style{colours: true} }

// IsTerminal tells whether a person sees what is written.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (s Style) paint(code, text string) string {
	if !s.colours || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings and for what was asked.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim is for provenance and other side remarks.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red is for errors, Yellow for warnings, Green for what is well.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Yellow is for warnings.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Green is for what is well.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Cyan is for names of things.
func (s Style) Cyan(text string) string { return s.paint("36", text) }
