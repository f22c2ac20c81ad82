package terminal

import (
	"encoding/json"
	"fmt"
	"io"
)

// JSON writes indented JSON without HTML escaping.
func JSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// Count returns "1 thing" or "2 things".
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Severity colors a severity.
func (s Style) Severity(name string) string {
	switch name {
	case "Error":
		return s.Red(name)
	case "Warning":
		return s.Yellow(name)
	}
	return s.Dim(name)
}
