package osm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

const kindService = "Service"

// retry is a Retry for the requests of a client to a Service.
type retry struct {
	client types.NamespacedName
	name   types.NamespacedName // of the object
	policy model.Retry
	origin model.Origin // the destination
}

// addRetries adds the rules for Retry objects.
func (r *rules) addRetries(g *incremental.Graph, objects *store.Objects) {
	rule := incremental.NewRule(g, "Retry")
	incremental.Each(rule, store.Of[*policy.Retry](objects), &retryRule{
		policyRule: r.readsPolicies(rule), services: incremental.Reads(rule, store.Of[*corev1.Service](objects)),
		retries: incremental.Emits(rule, r.retries),
	}, (*retryRule).evaluate)
	rule = incremental.NewRule(g, "several Retry objects")
	incremental.EachSeveral(rule, r.retries, r.out.EmitsFindings(rule), reportRetries)
}

// reportRetries reports objects for the same client and Service, of which the oldest has effect. Both have a finding:
// users may expect the other one to have effect.
func reportRetries(findings store.Output[model.ObjectRef, model.Finding], _ types.NamespacedName, all []*retry) {
	first := map[types.NamespacedName]*retry{}
	for _, of := range all {
		older := first[of.client]
		if older == nil {
			first[of.client] = of
			continue
		}
		findings.Emit(model.NewFinding(of.origin, model.CodeNameConflict,
			fmt.Sprintf("has no effect: %s is for the same source and is older", older.origin.Object())))
		has := model.NewFinding(older.origin, model.CodeNameConflict,
			fmt.Sprintf("%s is for the same source; this one has effect, because it is older", of.origin.Object()))
		has.Severity = model.Warning
		findings.Emit(has)
	}
}

type retryRule struct {
	policyRule
	services *incremental.Reader[types.NamespacedName, *corev1.Service]
	retries  *incremental.Emitter[types.NamespacedName, *retry]
}

func (r *retryRule) evaluate(name types.NamespacedName, all []*policy.Retry) {
	o := all[0]
	at, _, is := r.member(policy.GroupVersion.Group, "Retry", o)
	if !is {
		return
	}
	out := retry{name: name}
	var valid bool
	out.client, valid = r.account(at, "spec.source", o.Spec.Source.Kind, o.Spec.Source.Name, o.Spec.Source.Namespace)
	out.policy = r.policy(at, o.Spec.RetryPolicy)
	if !valid || out.policy.Retries == 0 {
		return
	}
	var done []types.NamespacedName
	for i, d := range o.Spec.Destinations {
		path := fmt.Sprintf("spec.destinations[%d]", i)
		if d.Kind != kindService {
			r.report(at, path+".kind", model.CodeInvalidField, "%q is not %s; it has no effect", d.Kind, kindService)
			continue
		}
		destination := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		service, exists := r.clusterService(at, path, destination, r.services)
		if !exists || slices.Contains(done, destination) {
			continue
		}
		requests := func(p servicePort) bool { return p.protocol.Requests() }
		if !slices.ContainsFunc(portsOf(service), requests) {
			r.report(at, path, model.CodeInvalidField,
				"Service %s has no port for HTTP, and only requests are retried", destination)
			continue
		}
		done = append(done, destination)
		of := out
		of.origin, of.policy.Origin = at.At(path), at.At("spec.retryPolicy")
		r.retries.Emit(destination, &of)
	}
}

// policy returns the retries of a policy; the zero value has none.
func (r *retryRule) policy(at model.Origin, p policy.RetryPolicy) model.Retry {
	const path = "spec.retryPolicy"
	out := model.Retry{Retries: 1} // as in Envoy
	if p.NumRetries != nil {
		out.Retries = *p.NumRetries
	}
	for condition := range strings.SplitSeq(p.RetryOn, ",") {
		if condition = strings.TrimSpace(condition); !addCondition(&out, condition) {
			text := fmt.Sprintf("%q is not a condition of retries, and has no effect", condition)
			if meant, found := spelling.Meant(condition, conditionNames()); found {
				text += fmt.Sprintf("; did you mean %q?", meant)
			}
			r.report(at, path+".retryOn", model.CodeInvalidField, "%s", text)
		}
	}
	slices.Sort(out.Conditions)
	slices.Sort(out.StatusCodes)
	out.Conditions, out.StatusCodes = slices.Compact(out.Conditions), slices.Compact(out.StatusCodes)
	if len(out.Conditions)+len(out.StatusCodes) == 0 {
		return model.Retry{}
	}
	if t := p.PerTryTimeout; t != nil {
		out.PerTry = model.Duration(max(t.Duration, 0))
	}
	if t := p.RetryBackoffBaseInterval; t != nil {
		out.Backoff = model.Duration(max(t.Duration, 0))
	}
	return out
}

// noResponse are the conditions that Envoy's conditions for status codes include.
var noResponse = []model.RetryCondition{model.RetryConnectFailure, model.RetryRefusedStream, model.RetryReset}

// retryConditions are Envoy's conditions of retries, which Open Service Mesh passed on.
var retryConditions = map[string]model.Retry{
	"5xx":           {Conditions: noResponse, StatusCodes: statusCodes(500, 599)},
	"gateway-error": {Conditions: noResponse, StatusCodes: statusCodes(502, 504)},
	"retriable-4xx": {StatusCodes: statusCodes(409, 409)},

	"connect-failure":    {Conditions: []model.RetryCondition{model.RetryConnectFailure}},
	"refused-stream":     {Conditions: []model.RetryCondition{model.RetryRefusedStream}},
	"reset":              {Conditions: []model.RetryCondition{model.RetryReset}},
	"cancelled":          {Conditions: []model.RetryCondition{model.RetryGRPCCanceled}},
	"deadline-exceeded":  {Conditions: []model.RetryCondition{model.RetryGRPCDeadlineExceeded}},
	"internal":           {Conditions: []model.RetryCondition{model.RetryGRPCInternal}},
	"resource-exhausted": {Conditions: []model.RetryCondition{model.RetryGRPCResourceExhausted}},
	"unavailable":        {Conditions: []model.RetryCondition{model.RetryGRPCUnavailable}},
}

func conditionNames() (names []string) {
	for name := range retryConditions {
		names = append(names, name)
	}
	return sorted(names)
}

func statusCodes(first, last uint16) (out []uint16) {
	for code := first; code <= last; code++ {
		out = append(out, code)
	}
	return out
}

// addCondition adds a condition of Envoy, or a status code as in osm-edge. It reports false for another text.
func addCondition(r *model.Retry, text string) bool {
	of, known := retryConditions[text]
	if code, err := strconv.ParseUint(text, 10, 16); err == nil && code >= 400 && code <= 599 {
		of, known = model.Retry{StatusCodes: []uint16{uint16(code)}}, true
	}
	r.Conditions, r.StatusCodes = append(r.Conditions, of.Conditions...), append(r.StatusCodes, of.StatusCodes...)
	return known
}
