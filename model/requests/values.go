package requests

import (
	"slices"
	"strconv"
	"strings"

	"anymesh.dev/anymesh/model"
)

// other is a value that no user writes into a condition.
const other = "anymesh-other"

// values returns values of a field on both sides of a condition: those that it accepts and those that it just does not.
func values(kind model.MatchKind, value string) []string {
	switch kind {
	case model.Exact:
		return []string{value, value + "x"}
	case model.Prefix:
		return []string{value, value + "x", cut(value)}
	case model.PathPrefix:
		elements := strings.TrimRight(value, "/")
		return []string{elements, elements + "/x", elements + "x"}
	case model.Suffix:
		return []string{value, "x" + value, value + "x"}
	case model.Regex:
		return samples(value)
	case model.Present:
		return []string{"x"}
	}
	return nil
}

// cut removes the last byte: the result lacks the prefix.
func cut(prefix string) string { return prefix[:max(0, len(prefix)-1)] }

// fieldValues returns values of a header or a query parameter on both sides of a condition.
func fieldValues(f model.FieldMatch) []string {
	if f.Kind != model.Range {
		return values(f.Kind, f.Value)
	}
	return []string{
		strconv.FormatInt(f.Start-1, 10), strconv.FormatInt(f.Start, 10), strconv.FormatInt(f.End-1, 10),
		strconv.FormatInt(f.End, 10),
	}
}

// paths returns paths on both sides of a condition, each in a form that a client can send.
func paths(m model.StringMatch) []string {
	var out []string
	for _, v := range values(m.Kind, m.Value) {
		if !strings.HasPrefix(v, "/") {
			v = "/" + v
		}
		if !strings.ContainsFunc(v, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' || c == '?' }) {
			out = append(out, v)
		}
	}
	return out
}

// fieldText reports whether a client can send a value in a header or a query parameter.
func fieldText(v string) bool {
	return v != "" && strings.TrimSpace(v) == v && !strings.ContainsFunc(v, func(c rune) bool { return c < ' ' || c >= 0x7f })
}

// queryText reports whether a client can send a value in a query without encoding it.
func queryText(v string) bool { return fieldText(v) && !strings.ContainsAny(v, " &#+%\"<>`") }

// distinct returns the values that are allowed, each once, in order.
func distinct(all []string, allowed func(string) bool) []string {
	var out []string
	for _, v := range all {
		if allowed(v) && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}
