package appmesh

import (
	"errors"
	"fmt"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
)

// validateGatewayRoute reports all errors, not just the first.
func validateGatewayRoute(o *api.GatewayRoute) error {
	var errs []error
	switch s := o.Spec; count(s.HTTPRoute != nil, s.HTTP2Route != nil, s.GRPCRoute != nil) {
	case 0:
		errs = append(errs, errors.New("spec: no route specified; want one of httpRoute, http2Route, grpcRoute"))
	case 1:
		switch {
		case s.HTTPRoute != nil:
			errs = httpGatewayRouteErrors("spec.httpRoute", s.HTTPRoute)
		case s.HTTP2Route != nil:
			errs = httpGatewayRouteErrors("spec.http2Route", s.HTTP2Route)
		case s.GRPCRoute.Match.ServiceName == nil && s.GRPCRoute.Match.Hostname == nil:
			errs = append(errs,
				errors.New("spec.grpcRoute.match: either serviceName or hostname must be specified"))
		}
	default:
		errs = append(errs,
			errors.New("spec: multiple routes specified; want only one of httpRoute, http2Route, grpcRoute"))
	}
	if len(errs) == 0 {
		return nil
	}
	return fmt.Errorf("GatewayRoute-%s: %w", o.Name, errors.Join(errs...))
}

func httpGatewayRouteErrors(path string, r *api.HTTPGatewayRoute) []error {
	return append(gatewayMatchErrors(path+".match", r.Match),
		rewriteErrors(path+".action.rewrite", r.Action.Rewrite, r.Match)...)
}

func gatewayMatchErrors(path string, m api.HTTPGatewayRouteMatch) (errs []error) {
	deny := func(field, text string) { errs = append(errs, errors.New(path+field+": "+text)) }
	if m.Prefix == nil && m.Path == nil && m.Hostname == nil {
		deny("", "either prefix, path or hostname must be specified")
	}
	if m.Prefix != nil && m.Path != nil {
		deny("", "both prefix and path cannot be specified, only 1 allowed")
	}
	if h := m.Hostname; h != nil && count(h.Exact != nil, h.Suffix != nil) != 1 {
		deny(".hostname", "specify exactly one of exact and suffix")
	}
	for i, h := range m.Headers {
		f := h.Match
		if f == nil {
			continue
		}
		at := fmt.Sprintf(".headers[%d].match", i)
		if count(f.Exact != nil, f.Prefix != nil, f.Suffix != nil, f.Regex != nil, f.Range != nil) != 1 {
			deny(at, "specify exactly one of exact, prefix, range, regex and suffix")
		}
		if f.Range != nil && f.Range.Start >= f.Range.End {
			deny(at+".range", "start must be below end")
		}
	}
	for i, q := range m.QueryParameters {
		if q.Match != nil && q.Match.Exact == nil {
			deny(fmt.Sprintf(".queryParameters[%d].match", i), "exact must be specified")
		}
	}
	return errs
}

func rewriteErrors(path string, r *api.HTTPGatewayRouteRewrite, m api.HTTPGatewayRouteMatch) (errs []error) {
	if r == nil {
		return nil
	}
	deny := func(field, text string) { errs = append(errs, errors.New(path+field+": "+text)) }
	if r.Prefix == nil && r.Path == nil && r.Hostname == nil {
		deny("", "specify at least one of prefix, path and hostname")
	}
	if r.Prefix != nil && r.Path != nil {
		deny("", "both prefix and path cannot be rewritten, only 1 allowed")
	}
	if p := r.Prefix; p != nil {
		if p.DefaultPrefix != nil && p.Value != nil {
			deny(".prefix", "both defaultPrefix and value cannot be specified, only 1 allowed")
		}
		if p.Value != nil && (!strings.HasPrefix(*p.Value, "/") || !strings.HasSuffix(*p.Value, "/")) {
			deny(".prefix.value", "must begin and end with /")
		}
		if m.Prefix != nil && !strings.HasPrefix(*m.Prefix, "/") {
			deny(".prefix", "the prefix to be matched must begin with /")
		}
	}
	return errs
}
