package osm

import (
	"slices"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/model"
)

// Values of status.currentStatus.
const (
	statusCommitted = "committed"
	statusError     = "error"
)

// policyStatus returns the status of a policy: error with the first finding of this severity, else committed.
func policyStatus(findings []model.Finding) policy.PolicyStatus {
	i := slices.IndexFunc(findings, func(f model.Finding) bool { return f.Severity == model.Error })
	if i < 0 {
		return policy.PolicyStatus{CurrentStatus: statusCommitted, Reason: "the object has effect"}
	}
	reason := findings[i].Text
	if findings[i].Path != "" {
		reason = findings[i].Path + ": " + reason
	}
	return policy.PolicyStatus{CurrentStatus: statusError, Reason: reason}
}
