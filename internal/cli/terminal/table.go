package terminal

import (
	"fmt"
	"io"
	"strings"
)

// minWidth is the width of a column that is not shortened.
const minWidth = 12

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

// Write writes the table, without trailing spaces. On a terminal that is too narrow, the widest columns are shortened
// in the middle, so that both ends of names stay.
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
	if s.columns > 0 {
		fit(widths, s.columns-len(t.Indent)-gap*(len(widths)-1))
	}
	for _, row := range rows {
		var line strings.Builder
		line.WriteString(t.Indent)
		for i, cell := range row {
			cell = shorten(cell, widths[i])
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

// fit takes columns from the widest ones until the sum of the widths is available, or all are narrow.
func fit(widths []int, available int) {
	sum := 0
	for _, w := range widths {
		sum += w
	}
	for ; sum > available; sum-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= minWidth {
			return
		}
		widths[widest]--
	}
}
