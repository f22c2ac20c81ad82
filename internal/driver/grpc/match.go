package grpc

import (
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"anymesh.dev/anymesh/model"
)

// unsupportedMatch says which condition of a match gRPC libraries do not have, or returns "".
func unsupportedMatch(m model.Match) string {
	switch m.Path.Kind {
	case "", model.Exact, model.Prefix, model.Regex:
	default:
		return "paths cannot be matched by " + string(m.Path.Kind)
	}
	if m.Method != "" || m.Scheme != "" || len(m.Hosts)+len(m.Query) > 0 || m.Predicate != nil {
		return "only paths and headers can be matched"
	}
	for _, f := range m.Headers {
		switch name := strings.ToLower(f.Name); {
		case strings.HasPrefix(name, ":") || name == "host":
			return "the pseudo-header " + name + " cannot be matched"
		case strings.HasSuffix(name, "-bin") || strings.HasPrefix(name, "grpc-"):
			return "the header " + name + " cannot be matched"
		case f.Invert && f.Kind != model.Present:
			// An absent header would not match, in contrast to the model.
			return "the match of header " + name + " cannot be inverted"
		}
	}
	return ""
}

func routeMatch(m model.Match) *routev3.RouteMatch {
	out := &routev3.RouteMatch{}
	switch m.Path.Kind {
	case model.Exact:
		out.PathSpecifier = &routev3.RouteMatch_Path{Path: m.Path.Value}
	case model.Regex:
		out.PathSpecifier = &routev3.RouteMatch_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Path.Value}}
	case model.Prefix:
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: m.Path.Value}
	default:
		out.PathSpecifier = &routev3.RouteMatch_Prefix{}
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, headerMatcher(h))
	}
	return out
}

func headerMatcher(f model.FieldMatch) *routev3.HeaderMatcher {
	out := &routev3.HeaderMatcher{Name: strings.ToLower(f.Name), InvertMatch: f.Invert}
	switch f.Kind {
	case model.Present:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}
	case model.Range:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_RangeMatch{
			RangeMatch: &typev3.Int64Range{Start: f.Start, End: f.End},
		}
	default:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_StringMatch{
			StringMatch: stringMatcher(model.StringMatch{Kind: f.Kind, Value: f.Value}),
		}
	}
	return out
}

func stringMatcher(m model.StringMatch) *matcherv3.StringMatcher {
	switch m.Kind {
	case model.Prefix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: m.Value}}
	case model.Suffix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: m.Value}}
	case model.Regex:
		return &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: m.Value}},
		}
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: m.Value}}
}
