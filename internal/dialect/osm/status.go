package osm

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Values of status.currentStatus.
const (
	statusCommitted = "committed"
	statusError     = "error"
)

// StatusKinds returns the kinds whose status says whether they have effect.
func (Dialect) StatusKinds() []client.Object {
	return []client.Object{&policy.IngressBackend{}, &policy.UpstreamTrafficSetting{}}
}

// Status sets the status: error with the first finding of this severity, else committed.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	switch o := object.DeepCopyObject().(type) {
	case *policy.IngressBackend:
		o.Status = policyStatus(in.Findings)
		return o
	case *policy.UpstreamTrafficSetting:
		o.Status = policyStatus(in.Findings)
		return o
	}
	return object
}

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
