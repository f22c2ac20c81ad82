// Package spelling finds the name that was meant.
//
// In: a misspelled name, and the names that exist. Out: the one with the fewest changed characters.
package spelling

import (
	"slices"
	"strings"
)

// Nearest returns the name with the fewest changed characters, ignoring case. There is at least one name.
func Nearest(text string, names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return changes(strings.ToLower(text), strings.ToLower(a)) - changes(strings.ToLower(text), strings.ToLower(b))
	})
}

// Meant returns the name that a text misspells. It reports false if no name is near, or if the text is a name.
func Meant(text string, names []string) (string, bool) {
	if len(text) > maxCompared || slices.Contains(names, text) {
		return "", false
	}
	lower := strings.ToLower(text)
	var near []string
	for _, name := range names {
		if changes(lower, strings.ToLower(name)) <= allowed(min(len(text), len(name))) {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return "", false
	}
	return Nearest(text, near), true
}

// minPrefix is the length from which a part of a name stands for the name.
const minPrefix = 4

// Completes returns the only name that begins with a text, or with which the text begins, ignoring case.
func Completes(text string, names []string) (string, bool) {
	lower := strings.ToLower(text)
	var found []string
	for _, name := range names {
		other := strings.ToLower(name)
		if min(len(text), len(name)) >= minPrefix && (strings.HasPrefix(other, lower) || strings.HasPrefix(lower, other)) {
			found = append(found, name)
		}
	}
	if len(found) != 1 || found[0] == text {
		return "", false
	}
	return found[0], true
}

// allowed is the number of changes of a typing error in a name with n bytes.
func allowed(n int) int {
	switch {
	case n <= 2:
		return 0
	case n <= 4:
		return 1
	case n <= 9:
		return 2
	}
	return 3
}

// maxCompared limits the compared bytes of a name, because the name is of a user.
const maxCompared = 64

// changes returns the number of inserted, removed and replaced bytes, and of exchanged neighbors (the optimal string
// alignment distance).
func changes(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, above, row = above, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(above[j]+cost, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
