// Package truncate shortens texts to a number of bytes, at the boundary of a character.
//
// In: a text and a limit in bytes. Out: the longest beginning of it that fits and does not cut a character of UTF-8.
package truncate

import "unicode/utf8"

// ellipsis marks a text that was shortened.
const ellipsis = " ..."

// Text is the beginning of s, of at most limit bytes.
func Text(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// WithEllipsis is s, or its beginning and " ..." if s is longer than limit bytes. The limit includes the ellipsis.
func WithEllipsis(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return Text(s, limit-len(ellipsis)) + ellipsis
}
