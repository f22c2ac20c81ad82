package predicate

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// language matches a language tag of RFC 5646, and a range of RFC 4647.
var (
	language      = regexp.MustCompile(`^[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*$`)
	languageRange = regexp.MustCompile(`^(\*|[A-Za-z]{1,8})(-(\*|[A-Za-z0-9]{1,8}))*$`)
)

// texts are the types of strings.
var texts = map[string]func(string) bool{
	"date":         layouts("2006-01-02"),
	"time":         layouts("15:04:05Z07:00", "15:04:05.999999999Z07:00"),
	"date-time":    layouts(time.RFC3339, time.RFC3339Nano),
	"lang":         language.MatchString,
	"lang-range":   languageRange.MatchString,
	"iri":          func(s string) bool { _, err := url.Parse(s); return err == nil && !strings.ContainsAny(s, " \t\r\n") },
	"absolute-iri": func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() },
}

// kinds are the types of JSON.
var kinds = map[string]matcher{
	"undefined": func(v metadata.Value) bool { return v.Kind == metadata.Undefined },
	"null":      func(v metadata.Value) bool { return v.Kind == metadata.Null },
	"boolean":   func(v metadata.Value) bool { return v.Kind == metadata.Bool },
	"number":    func(v metadata.Value) bool { return v.Kind == metadata.Number },
	"string":    func(v metadata.Value) bool { return v.Kind == metadata.String },
	"array":     func(v metadata.Value) bool { _, is := v.Any.([]any); return is },
	"object":    func(v metadata.Value) bool { _, is := v.Any.(map[string]any); return is },
}

func layouts(all ...string) func(string) bool {
	return func(s string) bool {
		for _, layout := range all {
			if _, err := time.Parse(layout, s); err == nil {
				return true
			}
		}
		return false
	}
}

func (e *expression) types() (matcher, error) {
	name, is := e.value.(string)
	if !is {
		return nil, fmt.Errorf("value: must be the name of a type")
	}
	if match, is := kinds[name]; is {
		return match, nil
	}
	if match, is := texts[name]; is {
		return func(v metadata.Value) bool { return v.Kind == metadata.String && match(v.Text) }, nil
	}
	return nil, fmt.Errorf("value: %q is no type", name)
}
