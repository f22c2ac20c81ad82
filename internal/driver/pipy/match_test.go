package pipy

import (
	"regexp"
	"testing"

	"anymesh.dev/anymesh/model"
)

// Expressions that mean the same in ECMAScript are kept or become simpler comparisons; the others are refused.
func TestExpressions(t *testing.T) {
	for text, want := range map[string]string{
		`/buy`: "Exact /buy", `/buy.*`: "Prefix /buy", `.*`: "Prefix ", ``: "Exact ",
		`/v[0-9]+/items`: "Regex /v[0-9]+/items", `/a|/b`: "Regex /a|/b", `/a\.b`: `Regex /a\.b`, `(/a)?`: "Regex (/a)?",
		`^/a`: "", `/a$`: "", `\b`: "", `(?i)/a`: "", `(?P<n>a)`: "", `\pL`: "", `/ä`: "", `[`: "", `\A/a`: "", `a**`: "",
	} {
		kind, value, ok := comparison(model.Regex, text)
		if have := kind + " " + value; ok != (want != "") || ok && have != want {
			t.Errorf("%q: got %q, %v, want %q", text, have, ok, want)
		}
	}
}

// FuzzExpressions checks that an expression that becomes a simpler comparison matches the same texts.
func FuzzExpressions(f *testing.F) {
	f.Add("/buy.*", "/buy/x")
	f.Add("/buy", "/buy")
	f.Fuzz(func(t *testing.T, expression, text string) {
		kind, value, ok := comparison(model.Regex, expression)
		if !ok || kind == string(model.Regex) {
			return
		}
		for _, c := range text {
			if c < ' ' || c == '?' {
				return // paths have neither control characters nor a query
			}
		}
		have := model.Match{Path: model.StringMatch{Kind: model.MatchKind(kind), Value: value}}.Matches(model.Request{Path: text})
		if want := regexp.MustCompile(`\A(?:` + expression + `)\z`).MatchString(text); have != want {
			t.Errorf("%s %q of %q matches %q: %v, want %v", kind, value, expression, text, have, want)
		}
	})
}
