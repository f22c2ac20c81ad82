package ingress

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
	networkingv1 "k8s.io/api/networking/v1"

	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// The annotations of a canary, as ingress-nginx documents them. A header precedes a cookie, and a cookie the weight.
const (
	canary              = foreignPrefix + "canary"
	canaryWeight        = canary + "-weight"
	canaryTotal         = canary + "-weight-total"
	canaryHeader        = canary + "-by-header"
	canaryHeaderValue   = canary + "-by-header-value"
	canaryHeaderPattern = canary + "-by-header-pattern"
	canaryCookie        = canary + "-by-cookie"
)

// canaryAnnotations are the annotations that canaryOf reads.
var canaryAnnotations = []string{
	canary, canaryWeight, canaryTotal, canaryHeader, canaryHeaderValue, canaryHeaderPattern, canaryCookie,
}

// defaultTotal is the total of weights without an annotation. ingress-nginx does not use a lower one.
const defaultTotal = 100

// canaryOf returns what makes an Ingress the canary of another one; nil for other Ingresses.
func canaryOf(o *networkingv1.Ingress) (*gateway.Canary, error) {
	value, set := o.Annotations[canary]
	if !set {
		return nil, nil
	}
	enabled, err := strconv.ParseBool(value)
	if err != nil {
		return nil, fmt.Errorf(`annotation %s is %q; set "true" or "false"`, canary, value)
	}
	if !enabled {
		return nil, nil
	}
	for name := range o.Annotations {
		if strings.HasPrefix(name, canary) && !slices.Contains(canaryAnnotations, name) {
			return nil, fmt.Errorf("annotation %s is not known", name)
		}
	}
	out := &gateway.Canary{}
	if out.Weight, out.Total, err = canaryShare(o.Annotations); err != nil {
		return nil, err
	}
	byHeader, err := headerMatches(o.Annotations)
	if err != nil {
		return nil, err
	}
	byCookie, err := cookieMatches(o.Annotations[canaryCookie])
	out.Matches = slices.Concat(byHeader, byCookie)
	return out, err
}

// canaryShare returns the weight of a canary, and the total of the weights.
func canaryShare(annotations map[string]string) (weight, total uint32, err error) {
	number := func(name string, otherwise uint64) uint64 {
		text, set := annotations[name]
		if !set || err != nil {
			return otherwise
		}
		n, fault := strconv.ParseUint(text, 10, 32)
		if fault != nil {
			err = fmt.Errorf("annotation %s is %q; set a number from 0", name, text)
		}
		return n
	}
	total = uint32(max(number(canaryTotal, defaultTotal), defaultTotal))
	weight = uint32(number(canaryWeight, 0))
	if err == nil && weight > total {
		err = fmt.Errorf("annotation %s is %d, more than the total %d", canaryWeight, weight, total)
	}
	return weight, total, err
}

// headerMatches returns the matches of a header: "always" and "never", unless there is a value or a pattern.
func headerMatches(annotations map[string]string) ([]gateway.CanaryMatch, error) {
	name, value, pattern := annotations[canaryHeader], annotations[canaryHeaderValue], annotations[canaryHeaderPattern]
	match := model.FieldMatch{Name: strings.ToLower(name), Kind: model.Exact}
	switch {
	case name == "" && value+pattern != "":
		return nil, fmt.Errorf("annotation %s is required beside %s and %s", canaryHeader, canaryHeaderValue, canaryHeaderPattern)
	case name == "":
		return nil, nil
	case !httpguts.ValidHeaderFieldName(name):
		return nil, fmt.Errorf("annotation %s: %q is not the name of a header", canaryHeader, name)
	case value != "":
		match.Value = value
		return []gateway.CanaryMatch{{Header: match}}, nil
	case pattern != "":
		if _, err := regexp.Compile(pattern); err != nil {
			return nil, fmt.Errorf("annotation %s: %q is not a regular expression of RE2: %w", canaryHeaderPattern, pattern, err)
		}
		match.Kind, match.Value = model.Regex, ".*(?:"+pattern+").*" // the pattern of ingress-nginx may match a part
		return []gateway.CanaryMatch{{Header: match}}, nil
	}
	return alwaysOrNever(match, func(value string) string { return value }), nil
}

// cookieMatches returns the matches of a cookie with the values "always" and "never".
func cookieMatches(name string) ([]gateway.CanaryMatch, error) {
	if name == "" {
		return nil, nil
	}
	if !httpguts.ValidHeaderFieldName(name) { // the characters are the same (RFC 6265, 4.1.1)
		return nil, fmt.Errorf("annotation %s: %q is not the name of a cookie", canaryCookie, name)
	}
	return alwaysOrNever(model.FieldMatch{Name: "cookie", Kind: model.Regex}, func(value string) string {
		return `(?:.*[;,])?\s*` + regexp.QuoteMeta(name) + "=" + value + `\s*(?:[;,].*)?`
	}), nil
}

// alwaysOrNever returns a match for the canary and one for the stable Ingress.
func alwaysOrNever(on model.FieldMatch, value func(string) string) []gateway.CanaryMatch {
	always, never := on, on
	always.Value, never.Value = value("always"), value("never")
	return []gateway.CanaryMatch{{Header: always}, {Header: never, Stable: true}}
}
