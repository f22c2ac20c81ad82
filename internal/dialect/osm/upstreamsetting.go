package osm

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// upstreamSetting is an UpstreamTrafficSetting, without what is invalid.
type upstreamSetting struct {
	origin      model.Origin
	host        string
	limits      *model.ConnectionLimits
	connections *model.RateLimit
	requests    []model.RequestRate
}

// addUpstreamSettings adds the rules for UpstreamTrafficSettings.
func (r *rules) addUpstreamSettings(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, kindUpstreamTrafficSetting)
	incremental.Each(rule, store.Of[*policy.UpstreamTrafficSetting](objects), &upstreamRule{
		policyRule: r.readsPolicies(rule), services: incremental.Reads(rule, store.Of[*corev1.Service](objects)),
		upstreams: incremental.Emits(rule, r.upstreams), settings: incremental.Emits(rule, r.upstreamSettings),
	}, (*upstreamRule).evaluate)
	rule = incremental.NewRule(g, "several UpstreamTrafficSettings")
	incremental.EachSeveral(rule, r.upstreams, r.out.EmitsFindings(rule),
		func(findings store.Output[model.ObjectRef, model.Finding], _ types.NamespacedName, all []*upstreamSetting) {
			for _, younger := range all[1:] {
				findings.Emit(model.NewFinding(younger.origin.At("spec.host"), model.CodeNameConflict,
					fmt.Sprintf("has no effect: %s is for the same host and is older", all[0].origin.Object())))
			}
		})
}

type upstreamRule struct {
	policyRule
	services *incremental.Reader[types.NamespacedName, *corev1.Service]
	// upstreams are by Service, settings by the name of the object.
	upstreams, settings *incremental.Emitter[types.NamespacedName, *upstreamSetting]
}

func (r *upstreamRule) evaluate(name types.NamespacedName, all []*policy.UpstreamTrafficSetting) {
	o := all[0]
	at, _, is := r.member(policy.GroupVersion.Group, kindUpstreamTrafficSetting, o)
	if !is {
		return
	}
	out := &upstreamSetting{origin: at, host: strings.ToLower(o.Spec.Host)}
	out.limits = r.limits(at, o.Spec.ConnectionSettings)
	for i, h := range o.Spec.Routes {
		r.routeRate(at, fmt.Sprintf("spec.httpRoutes[%d]", i), h, out)
	}
	if limit := o.Spec.RateLimit; limit != nil {
		r.unknown(at, "spec.rateLimit.global", limit.Global)
		r.localRates(at, limit.Local, out)
	}
	for i := range o.Spec.HTTPHeaders {
		r.report(at, fmt.Sprintf("spec.httpHeaders[%d]", i), model.CodeFieldNotImplemented, "has no effect")
	}
	r.settings.Emit(name, out)
	if service, ok := r.host(at, name.Namespace, o.Spec.Host); ok {
		r.upstreams.Emit(service, out)
	}
}

// host returns the Service that a host names. It reports false for a host outside of the cluster, and after a finding
// for a name with another form or namespace.
func (r *upstreamRule) host(at model.Origin, namespace, host string) (types.NamespacedName, bool) {
	service, inCluster := store.ServiceName(host, namespace)
	switch {
	case !inCluster:
		return service, false
	case service.Namespace != namespace:
		r.report(at, "spec.host", model.CodeInvalidField,
			"%s is in another namespace: only an object of the namespace of the Service has effect", service)
		return service, false
	case !strings.EqualFold(host, hostOf(service)):
		r.report(at, "spec.host", model.CodeInvalidField, "%q matches no host; write %s", host, hostOf(service))
		return service, false
	}
	_, exists := r.clusterService(at, "spec.host", service, r.services)
	return service, exists
}

// unknown reports a field that is not implemented.
func (r *upstreamRule) unknown(at model.Origin, path string, value *apiextensionsv1.JSON) {
	if value != nil {
		r.report(at, path, model.CodeFieldNotImplemented, "has no effect")
	}
}

// limits returns the limits of clients, or nil.
func (r *upstreamRule) limits(at model.Origin, s *policy.ConnectionSettings) *model.ConnectionLimits {
	if s == nil {
		return nil
	}
	const path = "spec.connectionSettings"
	out := model.ConnectionLimits{}
	number := func(field string, n *uint32, into *uint32) {
		if n == nil {
			return
		}
		if *into = *n; *n == 0 {
			r.report(at, path+field, model.CodeInvalidField, "0 would refuse everything; there is no limit")
		}
	}
	if tcp := s.TCP; tcp != nil {
		number(".tcp.maxConnections", tcp.MaxConnections, &out.MaxConnections)
		if t := tcp.ConnectTimeout; t != nil && t.Duration <= 0 {
			r.report(at, path+".tcp.connectTimeout", model.CodeInvalidField, "%s is not above 0", t.Duration)
		} else if t != nil {
			out.ConnectTimeout = model.Duration(t.Duration)
		}
	}
	if http := s.HTTP; http != nil {
		number(".http.maxRequests", http.MaxRequests, &out.MaxRequests)
		number(".http.maxPendingRequests", http.MaxPendingRequests, &out.MaxPending)
		number(".http.maxRetries", http.MaxRetries, &out.MaxRetries)
		number(".http.maxRequestsPerConnection", http.MaxRequestsPerConnection, &out.MaxRequestsPerConnection)
		if http.CircuitBreaking != nil {
			r.report(at, path+".http.circuitBreaking", model.CodeNotSupported,
				"has no effect: no sidecar driver of this program has the circuit breaker of osm-edge")
		}
	}
	if reflect.DeepEqual(out, model.ConnectionLimits{}) {
		return nil
	}
	out.Origin = at.At(path)
	return &out
}

// localRates reads the limits of all connections and requests.
func (r *upstreamRule) localRates(at model.Origin, local *policy.LocalRateLimit, out *upstreamSetting) {
	if local == nil {
		return
	}
	const path = "spec.rateLimit.local"
	if tcp := local.TCP; tcp != nil {
		if limit, ok := r.rate(at, path+".tcp", "connections", tcp.Connections, tcp.Unit, tcp.Burst); ok {
			limit.Origin = at.At(path + ".tcp")
			out.connections = &limit
		}
	}
	if http := local.HTTP; http != nil {
		r.requestRate(at, path+".http", model.Match{}, *http, out)
	}
}

// routeRate reads the limit of the requests with a path.
func (r *upstreamRule) routeRate(at model.Origin, path string, h policy.UpstreamRoute, out *upstreamSetting) {
	if h.RateLimit == nil {
		return
	}
	r.unknown(at, path+".rateLimit.global", h.RateLimit.Global)
	if _, err := regexp.Compile(h.Path); err != nil || h.Path == "" {
		r.report(at, path+".path", model.CodeInvalidField, "%q is not a regular expression; the entry has no effect", h.Path)
		return
	}
	if h.RateLimit.Local != nil {
		m := model.Match{Path: model.StringMatch{Kind: model.Regex, Value: h.Path}}
		r.requestRate(at, path+".rateLimit.local", m, *h.RateLimit.Local, out)
	}
}

const tooManyRequests = 429

func (r *upstreamRule) requestRate(at model.Origin, path string, m model.Match, l policy.HTTPLocalRateLimit,
	out *upstreamSetting) {
	limit, ok := r.rate(at, path, "requests", l.Requests, l.Unit, l.Burst)
	if !ok {
		return
	}
	rate := model.RequestRate{Match: m, Limit: limit, StatusCode: tooManyRequests, Origin: at.At(path)}
	switch code := l.ResponseStatusCode; {
	case code >= 400 && code <= 599:
		rate.StatusCode = uint16(code)
	case code != 0:
		r.report(at, path+".responseStatusCode", model.CodeInvalidField, "%d is not from 400 to 599; %d is used", code,
			tooManyRequests)
	}
	for _, h := range l.ResponseHeadersToAdd {
		rate.Headers = append(rate.Headers, model.Header{Name: h.Name, Value: h.Value})
	}
	out.requests = append(out.requests, rate)
}

var units = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour}

// rate returns a limit. It reports false, after a finding, if it is invalid.
func (r *upstreamRule) rate(at model.Origin, path, field string, n uint32, unit string,
	burst uint32) (model.RateLimit, bool) {
	interval, known := units[unit]
	if !known {
		r.report(at, path+".unit", model.CodeInvalidField, "%q is not second, minute or hour; there is no limit", unit)
		return model.RateLimit{}, false
	}
	if n == 0 {
		r.report(at, path+"."+field, model.CodeInvalidField, "0 would refuse everything; there is no limit")
		return model.RateLimit{}, false
	}
	return model.RateLimit{Count: n, Burst: burst, Interval: model.Duration(interval)}, true
}
