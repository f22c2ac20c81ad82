package envoy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	previoushostsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/retry/host/previous_hosts/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
)

// hostSelectionAttempts limits how often a retry selects a host that it has not tried.
const hostSelectionAttempts = 5

// maxBackoff is the longest time before a retry, as a multiple of that before the first.
const maxBackoff = 10

// retryOn maps retry conditions to Envoy's retry_on values.
var retryOn = map[model.RetryCondition]string{
	model.RetryConnectFailure:        "connect-failure",
	model.RetryRefusedStream:         "refused-stream",
	model.RetryReset:                 "reset",
	model.RetryGRPCCanceled:          "cancelled",
	model.RetryGRPCDeadlineExceeded:  "deadline-exceeded",
	model.RetryGRPCInternal:          "internal",
	model.RetryGRPCResourceExhausted: "resource-exhausted",
	model.RetryGRPCUnavailable:       "unavailable",
}

// domains returns the virtual host domains of a service: its names, with and without port.
func domains(hosts []string, port uint16) []string {
	var out []string
	for _, h := range hosts {
		out = append(out, h, fmt.Sprintf("%s:%d", h, port))
	}
	return out
}

// routes renders a binding's routes in order. A route without destinations answers 404. Invalid routes are skipped,
// because Envoy rejects the whole route configuration for one invalid route.
func (r *renderer) routes(b model.Binding) []*routev3.Route {
	var out []*routev3.Route
	for _, route := range b.Routes {
		if fault := unsupportedMatch(route.Match); fault != "" {
			r.skipRoute(route, fault)
			continue
		}
		rendered := &routev3.Route{Name: route.Name, Match: routeMatch(route.Match), StatPrefix: routeStats(route.Name)}
		rendered.TypedPerFilterConfig = clientsConfig(route.Clients)
		r.setAction(rendered, route)
		if err := rendered.Validate(); err != nil {
			r.skipRoute(route, rootCause(err))
			continue
		}
		out = append(out, rendered)
	}
	return out
}

func (r *renderer) setAction(rendered *routev3.Route, route model.Route) {
	action := &routev3.RouteAction{}
	if to := route.Action.Redirect; to != nil {
		rendered.Action = redirect(to)
		return
	}
	switch cluster, weighted := r.targets(route.Action); {
	case cluster != "":
		action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: cluster}
	case len(weighted) > 0:
		action.ClusterSpecifier = weightedClusters(weighted)
	default:
		rendered.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 404}}
		return
	}
	setTimeouts(action, route.Action.Timeouts)
	setRewrite(action, route.Action.Rewrite, route.Match)
	rendered.RequestHeadersToAdd = setHeaders(route.Action.Rewrite)
	action.RetryPolicy = retryPolicy(route.Action.Retry)
	rendered.Action = &routev3.Route_Route{Route: action}
}

// redirectCodes are Envoy's values for status codes.
var redirectCodes = map[uint16]routev3.RedirectAction_RedirectResponseCode{
	301: routev3.RedirectAction_MOVED_PERMANENTLY, 302: routev3.RedirectAction_FOUND,
	303: routev3.RedirectAction_SEE_OTHER, 307: routev3.RedirectAction_TEMPORARY_REDIRECT,
	308: routev3.RedirectAction_PERMANENT_REDIRECT,
}

func redirect(to *model.Redirect) *routev3.Route_Redirect {
	return &routev3.Route_Redirect{Redirect: &routev3.RedirectAction{
		SchemeRewriteSpecifier: &routev3.RedirectAction_SchemeRedirect{SchemeRedirect: to.Scheme},
		HostRedirect:           to.Host, ResponseCode: redirectCodes[to.StatusCode],
	}}
}

func weightedClusters(targets []weightedTarget) *routev3.RouteAction_WeightedClusters {
	weighted := &routev3.WeightedCluster{}
	for _, t := range targets {
		weighted.Clusters = append(weighted.Clusters,
			&routev3.WeightedCluster_ClusterWeight{Name: t.cluster, Weight: wrapperspb.UInt32(t.weight)})
	}
	return &routev3.RouteAction_WeightedClusters{WeightedClusters: weighted}
}

// setTimeouts sets both timeouts: 0 means no timeout, and an unset field means Envoy's default.
func setTimeouts(a *routev3.RouteAction, t model.Timeouts) {
	a.Timeout = duration(t.Request)
	a.IdleTimeout = duration(t.Idle)
}

func setRewrite(a *routev3.RouteAction, w *model.Rewrite, m model.Match) {
	if w == nil {
		return
	}
	if w.Host != "" {
		a.HostRewriteSpecifier = &routev3.RouteAction_HostRewriteLiteral{HostRewriteLiteral: w.Host}
	}
	switch {
	case w.Path != "":
		a.RegexRewrite = &matcherv3.RegexMatchAndSubstitute{
			Pattern: &matcherv3.RegexMatcher{Regex: `^[^?]*`}, Substitution: w.Path,
		}
	case w.PathPrefix != nil && m.Path.Kind == model.Prefix:
		a.RegexRewrite = &matcherv3.RegexMatchAndSubstitute{
			Pattern:      &matcherv3.RegexMatcher{Regex: "^" + regexp.QuoteMeta(m.Path.Value)},
			Substitution: strings.ReplaceAll(*w.PathPrefix, `\`, `\\`),
		}
	case w.PathPrefix != nil && m.Path.Kind == model.PathPrefix:
		a.RegexRewrite = rewriteElements(m.Path.PathElements(), strings.TrimRight(*w.PathPrefix, "/"))
	}
}

// rewriteElements replaces leading elements of a path. If nothing is left of the path, it becomes "/".
func rewriteElements(from, to string) *matcherv3.RegexMatchAndSubstitute {
	pattern := "^" + regexp.QuoteMeta(from)
	if to == "" || from == "" {
		pattern, to = pattern+"/?", to+"/"
	}
	return &matcherv3.RegexMatchAndSubstitute{
		Pattern: &matcherv3.RegexMatcher{Regex: pattern}, Substitution: strings.ReplaceAll(to, `\`, `\\`),
	}
}

func setHeaders(w *model.Rewrite) []*corev3.HeaderValueOption {
	if w == nil {
		return nil
	}
	var out []*corev3.HeaderValueOption
	for _, h := range w.Headers {
		out = append(out, &corev3.HeaderValueOption{
			// Envoy expands %...% in values; ours are constants.
			Header:       &corev3.HeaderValue{Key: h.Name, Value: strings.ReplaceAll(h.Value, "%", "%%")},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		})
	}
	return out
}

func retryPolicy(p model.Retry) *routev3.RetryPolicy {
	if p.Retries == 0 {
		return nil
	}
	var causes []string
	for _, c := range p.Conditions {
		if cause, supported := retryOn[c]; supported { // others are reported
			causes = append(causes, cause)
		}
	}
	policy := &routev3.RetryPolicy{NumRetries: wrapperspb.UInt32(p.Retries)}
	for _, code := range p.StatusCodes {
		policy.RetriableStatusCodes = append(policy.RetriableStatusCodes, uint32(code))
	}
	if len(p.StatusCodes) > 0 {
		causes = append(causes, "retriable-status-codes")
	}
	slices.Sort(causes)
	policy.RetryOn = strings.Join(causes, ",")
	if p.PerTry > 0 {
		policy.PerTryTimeout = duration(p.PerTry)
	}
	if p.Backoff > 0 {
		policy.RetryBackOff = &routev3.RetryPolicy_RetryBackOff{
			BaseInterval: duration(p.Backoff), MaxInterval: duration(maxBackoff * p.Backoff),
		}
	}
	if p.AvoidPreviousHosts {
		policy.RetryHostPredicate = []*routev3.RetryPolicy_RetryHostPredicate{{
			Name: "envoy.retry_host_predicates.previous_hosts",
			ConfigType: &routev3.RetryPolicy_RetryHostPredicate_TypedConfig{
				TypedConfig: typedConfig(&previoushostsv3.PreviousHostsPredicate{}),
			},
		}}
		policy.HostSelectionRetryMaxAttempts = hostSelectionAttempts
	}
	return policy
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
	case model.PathPrefix:
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
		if elements := m.Path.PathElements(); elements != "" {
			out.PathSpecifier = &routev3.RouteMatch_PathSeparatedPrefix{PathSeparatedPrefix: elements}
		}
	default:
		out.PathSpecifier = &routev3.RouteMatch_Prefix{Prefix: "/"}
	}
	if m.Method != "" {
		out.Headers = append(out.Headers,
			headerMatcher(model.FieldMatch{Name: ":method", Kind: model.Exact, Value: m.Method}))
	}
	if m.Scheme != "" {
		out.Headers = append(out.Headers,
			headerMatcher(model.FieldMatch{Name: ":scheme", Kind: model.Exact, Value: m.Scheme}))
	}
	for _, h := range m.Headers {
		out.Headers = append(out.Headers, headerMatcher(h))
	}
	for _, q := range m.Query {
		out.QueryParameters = append(out.QueryParameters, queryMatcher(q))
	}
	return out
}

func headerMatcher(f model.FieldMatch) *routev3.HeaderMatcher {
	out := &routev3.HeaderMatcher{Name: f.Name, InvertMatch: f.Invert}
	switch f.Kind {
	case model.Present:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}
	case model.Range:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_RangeMatch{
			RangeMatch: &typev3.Int64Range{Start: f.Start, End: f.End},
		}
	default:
		out.HeaderMatchSpecifier = &routev3.HeaderMatcher_StringMatch{StringMatch: headerValueMatcher(f)}
	}
	// Otherwise Envoy does not match an absent header, even if the match is inverted.
	out.TreatMissingHeaderAsEmpty = f.Invert && f.Kind != model.Present
	return out
}

// headerValueMatcher compares the value of a header. Host names ignore case; the option of Envoy for that does not
// apply to regular expressions.
func headerValueMatcher(f model.FieldMatch) *matcherv3.StringMatcher {
	if !f.IsHost() {
		return stringMatcher(f)
	}
	if f.Kind == model.Regex {
		f.Value = "(?i:" + f.Value + ")"
		return stringMatcher(f)
	}
	out := stringMatcher(f)
	out.IgnoreCase = true
	return out
}

func queryMatcher(f model.FieldMatch) *routev3.QueryParameterMatcher {
	out := &routev3.QueryParameterMatcher{Name: f.Name}
	if f.Kind == model.Present {
		out.QueryParameterMatchSpecifier = &routev3.QueryParameterMatcher_PresentMatch{PresentMatch: true}
		return out
	}
	out.QueryParameterMatchSpecifier = &routev3.QueryParameterMatcher_StringMatch{StringMatch: stringMatcher(f)}
	return out
}

func stringMatcher(f model.FieldMatch) *matcherv3.StringMatcher {
	switch f.Kind {
	case model.Prefix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: f.Value}}
	case model.Suffix:
		return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: f.Value}}
	case model.Regex:
		return &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{Regex: f.Value}},
		}
	}
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: f.Value}}
}
