package osm

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/model"
)

// Values of status.currentStatus.
const (
	statusCommitted = "committed"
	statusError     = "error"
)

// policyStatus returns the status of a policy: error with the first finding of this severity, else committed, with the
// first warning.
func policyStatus(findings []model.Finding) policy.PolicyStatus {
	for _, s := range []struct {
		model.Severity
		current string
	}{{model.Error, statusError}, {model.Warning, statusCommitted}} {
		i := slices.IndexFunc(findings, func(f model.Finding) bool { return f.Severity == s.Severity })
		if i >= 0 {
			return policy.PolicyStatus{
				CurrentStatus: s.current, Reason: strings.TrimPrefix(findings[i].Path+": "+findings[i].Text, ": "),
			}
		}
	}
	return policy.PolicyStatus{CurrentStatus: statusCommitted, Reason: "the object has effect"}
}

// withPolicyStatus returns a shallow copy of a policy with a status, or nil for other kinds.
func withPolicyStatus(object client.Object, status policy.PolicyStatus) client.Object {
	switch o := object.(type) {
	case *policy.IngressBackend:
		out := *o
		out.Status = status
		return &out
	case *policy.UpstreamTrafficSetting:
		out := *o
		out.Status = status
		return &out
	case *policy.AccessControl:
		out := *o
		out.Status = status
		return &out
	case *policy.AccessCert:
		out := *o
		out.Status = status
		return &out
	case *policy.Egress:
		out := *o
		out.Status = status
		return &out
	case *policy.EgressGateway:
		out := *o
		out.Status = status
		return &out
	case *policy.Retry:
		out := *o
		out.Status = status
		return &out
	}
	return nil
}
