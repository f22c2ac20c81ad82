package osm

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	policy "anymesh.dev/anymesh/api/osm/policy/v1alpha1"
	"anymesh.dev/anymesh/api/osm/status"
	access "anymesh.dev/anymesh/api/smi/access/v1alpha3"
	specs "anymesh.dev/anymesh/api/smi/specs/v1alpha4"
	split "anymesh.dev/anymesh/api/smi/split/v1alpha4"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/truncate"
	"anymesh.dev/anymesh/model"
)

// The message of a condition has at most 32768 bytes in the Kubernetes API. It lists at most messageFindings findings
// of at most findingBytes bytes each.
const (
	messageFindings = 8
	findingBytes    = 4000
)

// StatusKinds returns an empty object of each kind with a status, and of the optional kinds, which keep what they have
// and get events.
func (d Dialect) StatusKinds() []client.Object {
	return append([]client.Object{
		&config.MeshConfig{}, &config.MeshRootCertificate{},
		&access.TrafficTarget{}, &specs.HTTPRouteGroup{}, &specs.TCPRoute{}, &split.TrafficSplit{},
		&policy.IngressBackend{}, &policy.UpstreamTrafficSetting{}, &policy.AccessControl{}, &policy.AccessCert{},
		&policy.Egress{}, &policy.EgressGateway{}, &policy.Retry{},
	}, d.OptionalKinds()...)
}

// Status returns a copy of an object with its status, which shares everything else. An object of a mesh with another
// name keeps its status. Policies of Open Service Mesh have the status that they had there. The others have the
// condition Served, which is True unless a finding is an error.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	_, settings := object.(*config.MeshConfig)
	_, root := object.(*config.MeshRootCertificate)
	if in.Mesh == "" && len(in.Findings) == 0 && !settings && !root {
		return object
	}
	if out := withPolicyStatus(object, policyStatus(in.Findings)); out != nil {
		return out
	}
	out, s := withOwnStatus(object)
	if s == nil {
		return object
	}
	s.ObservedGeneration = object.GetGeneration()
	c := condition(in.Findings)
	c.ObservedGeneration, c.LastTransitionTime = s.ObservedGeneration, metav1.NewTime(in.Now.Truncate(time.Second))
	i := slices.IndexFunc(s.Conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		i, s.Conditions = len(s.Conditions), append(s.Conditions, c)
	}
	if s.Conditions[i].Status == c.Status {
		c.LastTransitionTime = s.Conditions[i].LastTransitionTime
	}
	s.Conditions[i] = c
	return out
}

// withOwnStatus returns a shallow copy of an object with a deep copy of its status, or nil for other kinds.
func withOwnStatus(object client.Object) (client.Object, *status.Status) {
	switch o := object.(type) {
	case *config.MeshConfig:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	case *config.MeshRootCertificate:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	case *access.TrafficTarget:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	case *specs.HTTPRouteGroup:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	case *specs.TCPRoute:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	case *split.TrafficSplit:
		out := *o
		out.Status = *o.Status.DeepCopy()
		return &out, &out.Status
	}
	return object, nil
}

// condition summarizes findings: the worst one determines status and reason, and is the first in the message.
func condition(findings []model.Finding) metav1.Condition {
	weight := map[model.Severity]int{model.Error: 0, model.Warning: 1, model.Info: 2}
	all := slices.Clone(findings)
	slices.SortStableFunc(all, func(a, b model.Finding) int { return weight[a.Severity] - weight[b.Severity] })
	c := metav1.Condition{Type: status.Served, Status: metav1.ConditionTrue, Reason: status.Served}
	var texts []string
	for i, f := range all {
		if f.Severity == model.Error {
			c.Status = metav1.ConditionFalse
		}
		if i == 0 && f.Severity != model.Info {
			c.Reason = string(f.Code)
		}
		if i < messageFindings {
			text := strings.TrimPrefix(f.Path+": "+f.Text, ": ")
			// The API server replaces invalid bytes, so that the stored text would differ.
			texts = append(texts, truncate.WithEllipsis(strings.ToValidUTF8(text, "\uFFFD"), findingBytes))
		}
	}
	if more := len(all) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	c.Message = strings.Join(texts, "; ")
	return c
}
