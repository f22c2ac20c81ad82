package model

import (
	"reflect"
	"slices"
	"strings"
)

// Covers reports whether every request that o matches is certainly one that m matches. It reports false where this
// depends on the meaning of regular expressions.
func (m Match) Covers(o Match) bool {
	return hostsCover(m.Hosts, o.Hosts) && m.Path.covers(o.Path) &&
		(m.Method == "" || m.Method == o.Method) &&
		(m.Scheme == "" || strings.EqualFold(m.Scheme, o.Scheme)) &&
		fieldsCover(m.Headers, o.Headers, strings.EqualFold) &&
		fieldsCover(m.Query, o.Query, func(a, b string) bool { return a == b }) &&
		(m.Predicate == nil || reflect.DeepEqual(m.Predicate, o.Predicate))
}

func hostsCover(hosts, others []string) bool {
	if len(hosts) == 0 {
		return true
	}
	return len(others) > 0 && !slices.ContainsFunc(others, func(other string) bool {
		return !slices.ContainsFunc(hosts, func(host string) bool {
			return strings.EqualFold(host, other) || !strings.HasPrefix(other, "*") && hostMatches(host, other)
		})
	})
}

// fieldsCover reports whether each condition is also one of the others, or follows from one of them.
func fieldsCover(fields, others []FieldMatch, sameName func(a, b string) bool) bool {
	return !slices.ContainsFunc(fields, func(f FieldMatch) bool {
		return !slices.ContainsFunc(others, func(o FieldMatch) bool {
			present := f.Kind == Present && !f.Invert && !o.Invert // another comparison needs the field, too
			named := o
			named.Name = f.Name
			return sameName(f.Name, o.Name) && (f == named || present)
		})
	})
}

// covers reports whether a comparison matches all strings that another one matches.
func (m StringMatch) covers(o StringMatch) bool {
	switch {
	case m.Kind == "", m == o:
		return true
	case o.Kind == Exact:
		return m.Kind != Regex && m.matches(o.Value)
	case m.Kind == Prefix && o.Kind == Prefix:
		return strings.HasPrefix(o.Value, m.Value)
	case m.Kind == Prefix && o.Kind == PathPrefix:
		return strings.HasPrefix(o.PathElements(), m.Value) || o.PathElements() == "" && m.Value == ""
	case m.Kind == PathPrefix && o.Kind == PathPrefix:
		return o.PathElements() == m.PathElements() || strings.HasPrefix(o.PathElements(), m.PathElements()+"/")
	case m.Kind == PathPrefix && o.Kind == Prefix:
		return strings.HasPrefix(o.Value, m.PathElements()+"/")
	case m.Kind == Suffix && o.Kind == Suffix:
		return strings.HasSuffix(o.Value, m.Value)
	}
	return false
}
