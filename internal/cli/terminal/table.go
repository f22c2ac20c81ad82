package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// gap is the number of spaces between columns.
const gap = 2

// Table has rows of cells under headings. Cells may contain color codes, which alignment ignores.
type Table struct {
	// Indent is the prefix of each line.
	Indent string
	// Headings are optional.
	Headings []string
	rows     [][]string
}

// Row adds a row.
func (t *Table) Row(cells ...string) { t.rows = append(t.rows, cells) }

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write writes the table, without trailing spaces.
func (t *Table) Write(w io.Writer, s Style) error {
	rows := t.rows
	if len(t.Headings) > 0 {
		heading := make([]string, len(t.Headings))
		for i, h := range t.Headings {
			heading[i] = s.Dim(h)
		}
		rows = append([][]string{heading}, rows...)
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], Width(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, cell := range row {
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-Width(cell)+gap))
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// Width is the number of terminal columns of a text, without color codes.
func Width(text string) int {
	width := 0
	for len(text) > 0 {
		if strings.HasPrefix(text, "\x1b[") {
			if end := strings.IndexByte(text, 'm'); end >= 0 {
				text = text[end+1:]
				continue
			}
		}
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		width++
	}
	return width
}
