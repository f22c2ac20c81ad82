package pipy

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"anymesh.dev/anymesh/model"
)

// regexIgnoreCase is the type of expressions that ignore case.
const regexIgnoreCase = "RegexIgnoreCase"

// ruleOf returns the rule of a match, without its clusters. It reports false for what the scripts cannot compare: the
// features of such matches are not supported, so that they have findings.
func ruleOf(m model.Match) (RouteRule, bool) {
	var out RouteRule
	if len(m.Hosts) > 0 || m.Scheme != "" || len(m.Query) > 0 || m.Predicate != nil {
		return out, false
	}
	if m.Method != "" {
		out.Methods = []string{m.Method}
	}
	var ok bool
	if out.Type, out.Path, ok = comparison(m.Path.Kind, m.Path.Value); !ok {
		return out, false
	}
	if m.Path.Kind == model.PathPrefix {
		out.Path = m.Path.PathElements()
	}
	for _, f := range m.Headers {
		h := HeaderMatch{Name: strings.ToLower(f.Name), Invert: f.Invert}
		if h.Type, h.Value, ok = comparison(f.Kind, f.Value); !ok {
			return out, false
		}
		switch {
		case f.IsHost() && h.Type == string(model.Regex):
			h.Type = regexIgnoreCase
		case f.IsHost():
			h.Value = strings.ToLower(h.Value)
		}
		out.Headers = append(out.Headers, h)
	}
	return out, true
}

// comparison returns the type and value of a comparison. Expressions that are a literal or begin with one become
// simpler comparisons.
func comparison(kind model.MatchKind, value string) (string, string, bool) {
	switch kind {
	case "", model.Exact, model.Prefix, model.PathPrefix, model.Suffix, model.Present:
		return string(kind), value, true
	case model.Regex:
		parsed, err := syntax.Parse(value, syntax.Perl)
		if err != nil || !portable(parsed) {
			return "", "", false
		}
		if literal, rest := strings.CutSuffix(value, ".*"); rest && regexp.QuoteMeta(literal) == literal {
			return string(model.Prefix), literal, true
		}
		if regexp.QuoteMeta(value) == value {
			return string(model.Exact), value, true
		}
		return string(model.Regex), value, !strings.Contains(value, "(?")
	}
	return "", "", false
}

// portable reports whether an expression means the same in the scripts, whose expressions are those of ECMAScript.
func portable(e *syntax.Regexp) bool {
	switch e.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpWordBoundary,
		syntax.OpNoWordBoundary:
		return false
	case syntax.OpLiteral, syntax.OpCharClass:
		for _, r := range e.Rune {
			if r > 0x7e && r != 0x10FFFF {
				return false
			}
		}
	}
	for _, part := range e.Sub {
		if !portable(part) {
			return false
		}
	}
	return true
}
