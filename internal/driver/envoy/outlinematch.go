package envoy

import (
	"fmt"
	"strings"
)

// matcherDump is a condition on a header or on a parameter of the query.
type matcherDump struct {
	Name    string           `json:"name"`
	String  *stringMatchDump `json:"stringMatch"`
	Present *bool            `json:"presentMatch"`
	Range   *struct {
		Start any `json:"start"` // a 64-bit integer is a string in JSON
		End   any `json:"end"`
	} `json:"rangeMatch"`
	Invert  bool `json:"invertMatch"`
	Missing bool `json:"treatMissingHeaderAsEmpty"`
}

type stringMatchDump struct {
	Exact      *string `json:"exact"`
	Prefix     string  `json:"prefix"`
	Suffix     string  `json:"suffix"`
	Contains   string  `json:"contains"`
	IgnoreCase bool    `json:"ignoreCase"`
	Regex      struct {
		Regex string `json:"regex"`
	} `json:"safeRegex"`
}

// matches is the text of the conditions of a route.
func (r routeDump) matches() string {
	var text string
	switch m := r.Match; {
	case m.Path != "":
		text = "path is " + m.Path
	case m.Regex.Regex != "":
		text = "path matches " + m.Regex.Regex
	case m.Elements != "":
		text = "path is " + m.Elements + " or below"
	case m.Prefix != nil && *m.Prefix != "":
		text = "path begins with " + *m.Prefix
	default:
		text = "any path"
	}
	for _, h := range r.Match.Headers {
		switch h.Name {
		case ":method", ":scheme", ":authority", ":path":
			text += ", " + h.text(h.Name[1:])
		default:
			text += ", " + h.text("header "+h.Name)
		}
	}
	for _, q := range r.Match.Query {
		text += ", " + q.text("query "+q.Name)
	}
	return text
}

func (m matcherDump) text(what string) string {
	text := what + " " + m.condition()
	if m.Invert {
		text = "not: " + text
	}
	if m.Missing {
		text += " (empty if missing)"
	}
	return text
}

func (m matcherDump) condition() string {
	switch {
	case m.Range != nil:
		return fmt.Sprintf("is from %v to below %v", orZero(m.Range.Start), orZero(m.Range.End))
	case m.Present != nil && !*m.Present:
		return "is absent"
	case m.String == nil:
		return "is present"
	}
	var text string
	switch s := m.String; {
	case s.Regex.Regex != "":
		text = "matches " + s.Regex.Regex
	case s.Prefix != "":
		text = "begins with " + s.Prefix
	case s.Suffix != "":
		text = "ends with " + s.Suffix
	case s.Contains != "":
		text = "contains " + s.Contains
	case s.Exact != nil && *s.Exact != "":
		text = "is " + *s.Exact
	default:
		text = "is empty"
	}
	if m.String.IgnoreCase {
		text += " (ignoring case)"
	}
	return text
}

// orZero is a value that JSON omits if it is 0.
func orZero(value any) string {
	if value == nil {
		return "0"
	}
	return strings.Trim(fmt.Sprint(value), `"`)
}
