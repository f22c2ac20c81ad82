package terminal

import (
	"strings"
	"unicode/utf8"
)

// escape is the length of the color code or of the link that a text begins with, in bytes; 0 if there is none.
func escape(text string) int {
	var end string
	switch {
	case strings.HasPrefix(text, "\x1b["):
		end = "m"
	case strings.HasPrefix(text, "\x1b]8;"):
		end = "\x1b\\"
	default:
		return 0
	}
	at := strings.Index(text, end)
	if at < 0 {
		return 0
	}
	return at + len(end)
}

// Width is the number of terminal columns of a text, without color codes and links.
func Width(text string) int {
	width := 0
	for len(text) > 0 {
		if n := escape(text); n > 0 {
			text = text[n:]
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
		width++
	}
	return width
}

// shorten replaces the middle of a text that is wider than so many columns by an ellipsis. Color codes and links stay.
func shorten(text string, columns int) string {
	width := Width(text)
	if width <= columns {
		return text
	}
	head := columns / 2
	tail := width - (columns - head - 1)
	var out strings.Builder
	for at := 0; len(text) > 0; {
		if n := escape(text); n > 0 {
			out.WriteString(text[:n])
			text = text[n:]
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		switch {
		case at < head || at >= tail:
			out.WriteString(text[:size])
		case at == head:
			out.WriteString("…")
		}
		text = text[size:]
		at++
	}
	return out.String()
}
