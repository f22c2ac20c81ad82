package appmesh

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/truncate"
	"anymesh.dev/anymesh/model"
)

// ReasonServed is the reason of a condition without findings. Every other reason is the code of a finding.
const ReasonServed = "Served"

// The message of a condition has at most 32768 bytes in the Kubernetes API. It lists at most messageFindings findings
// of at most findingBytes bytes each.
const (
	messageFindings = 8
	findingBytes    = 4000
)

// StatusKinds returns an empty object of each kind of App Mesh. BackendGroups have no status, but events.
func (d Dialect) StatusKinds() []client.Object { return dialect.OwnKinds(d) }

// Status returns a copy of an object with its desired status, which shares everything else. The status has one
// condition, the observed generation, and ARNs, which have the owner of the mesh. The condition is True unless the
// findings have an error. Existing ARNs are kept. A GatewayRoute without VirtualGateway gets none. Findings of other
// objects are ignored. BackendGroups and kinds of other groups are returned unchanged.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := withOwnStatus(object)
	f, ok := statusOf(out)
	if !ok {
		return out
	}
	own := slices.DeleteFunc(slices.Clone(in.Findings), func(f model.Finding) bool {
		return f.Object != originOf(kindOf(object), object).Object()
	})
	*f.observed = new(object.GetGeneration())
	*f.conditions = withCondition(*f.conditions, condition(f.conditionType, own), in.Now)
	removeOwnARNs(f.arn, out)
	if in.Mesh == "" {
		return out
	}
	by, _ := dialect.StateOf[namedBy](in)
	arn := arnPrefix + cmp.Or(string(by.owner), noAccount) + ":mesh/" + in.Mesh
	if _, is := object.(*api.GatewayRoute); is {
		if by.gateway == "" {
			return out
		}
		arn += "/virtualGateway/" + by.gateway
	}
	if f.arnType != "" {
		arn += "/" + f.arnType + "/" + AWSName(object)
	}
	if *f.arn == nil || **f.arn == "" {
		*f.arn = &arn
	}
	if router, is := out.(*api.VirtualRouter); is {
		router.Status.RouteARNs = routeARNs(router, **f.arn)
	}
	return out
}

// removeOwnARNs removes ARNs that Anymesh assigned, because they contain the mesh. It keeps other ARNs.
func removeOwnARNs(arn **string, object client.Object) {
	if *arn != nil && strings.HasPrefix(**arn, arnPrefix) {
		*arn = nil
	}
	if router, is := object.(*api.VirtualRouter); is {
		maps.DeleteFunc(router.Status.RouteARNs, func(_, known string) bool {
			return strings.HasPrefix(known, arnPrefix)
		})
		if len(router.Status.RouteARNs) == 0 {
			router.Status.RouteARNs = nil
		}
	}
}

// withOwnStatus returns a shallow copy of an object with a deep copy of its status. Kinds without status are not
// copied.
func withOwnStatus(object client.Object) client.Object {
	switch o := object.(type) {
	case *api.Mesh:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	case *api.VirtualNode:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	case *api.VirtualService:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	case *api.VirtualRouter:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	case *api.VirtualGateway:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	case *api.GatewayRoute:
		out := *o
		o.Status.DeepCopyInto(&out.Status)
		return &out
	}
	return object
}

// statusFields are the common fields of all statuses.
type statusFields struct {
	conditionType, arnType string
	arn                    **string
	conditions             *[]api.Condition
	observed               **int64
}

func statusOf(object client.Object) (statusFields, bool) {
	switch o := object.(type) {
	case *api.Mesh:
		return statusFields{
			api.MeshActive, "", &o.Status.MeshARN, &o.Status.Conditions, &o.Status.ObservedGeneration,
		}, true
	case *api.VirtualNode:
		return statusFields{
			api.VirtualNodeActive, "virtualNode", &o.Status.VirtualNodeARN, &o.Status.Conditions,
			&o.Status.ObservedGeneration,
		}, true
	case *api.VirtualService:
		return statusFields{
			api.VirtualServiceActive, "virtualService", &o.Status.VirtualServiceARN, &o.Status.Conditions,
			&o.Status.ObservedGeneration,
		}, true
	case *api.VirtualRouter:
		return statusFields{
			api.VirtualRouterActive, "virtualRouter", &o.Status.VirtualRouterARN, &o.Status.Conditions,
			&o.Status.ObservedGeneration,
		}, true
	case *api.VirtualGateway:
		return statusFields{
			api.VirtualGatewayActive, "virtualGateway", &o.Status.VirtualGatewayARN, &o.Status.Conditions,
			&o.Status.ObservedGeneration,
		}, true
	case *api.GatewayRoute:
		return statusFields{
			api.GatewayRouteActive, "gatewayRoute", &o.Status.GatewayRouteARN, &o.Status.Conditions,
			&o.Status.ObservedGeneration,
		}, true
	}
	return statusFields{}, false
}

// condition summarizes findings: the worst one determines status and reason, and is the first in the message.
func condition(conditionType string, findings []model.Finding) api.Condition {
	weight := map[model.Severity]int{model.Error: 0, model.Warning: 1, model.Info: 2}
	slices.SortStableFunc(findings, func(a, b model.Finding) int { return weight[a.Severity] - weight[b.Severity] })
	c := api.Condition{Type: conditionType, Status: corev1.ConditionTrue, Reason: ReasonServed}
	var texts []string
	for i, f := range findings {
		if f.Severity == model.Error {
			c.Status = corev1.ConditionFalse
		}
		if i == 0 {
			c.Reason = string(f.Code)
		}
		if i < messageFindings {
			texts = append(texts, truncateText(strings.TrimPrefix(f.Path+": "+f.Text, ": "), findingBytes))
		}
	}
	if more := len(findings) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	c.Message = strings.Join(texts, "; ")
	return c
}

// truncateText truncates a text to at most so many bytes. The result is valid UTF-8: the API server replaces invalid
// bytes, so that the stored text would differ.
func truncateText(text string, most int) string {
	return truncate.WithEllipsis(strings.ToValidUTF8(text, "\uFFFD"), most)
}

// withCondition replaces the condition of the same type. The transition time changes only with the status.
func withCondition(conditions []api.Condition, c api.Condition, now time.Time) []api.Condition {
	i := slices.IndexFunc(conditions, func(o api.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		i, conditions = len(conditions), append(conditions, api.Condition{})
	}
	c.LastTransitionTime = conditions[i].LastTransitionTime
	if c.LastTransitionTime == nil || conditions[i].Status != c.Status {
		c.LastTransitionTime = new(metav1.NewTime(now.Truncate(time.Second)))
	}
	conditions[i] = c
	return conditions
}

// maxRouteARNs limits the size of the ARNs that are added to the routes of one router, in bytes. The largest object of
// Kubernetes has 1.5 MiB, and would have no place for its conditions. The quota of App Mesh is 50 routes, 30 kB.
const maxRouteARNs = 128 << 10

// routeARNs keeps the ARNs of existing routes and adds missing ones, or none if they are too large.
func routeARNs(router *api.VirtualRouter, routerARN string) map[string]string {
	known, added, size := map[string]string{}, map[string]string{}, 0
	for _, r := range router.Spec.Routes {
		if arn := router.Status.RouteARNs[r.Name]; arn != "" {
			known[r.Name] = arn
			continue
		}
		arn := routerARN + "/route/" + r.Name
		added[r.Name] = arn
		size += len(arn) + len(r.Name)
	}
	if size <= maxRouteARNs {
		maps.Copy(known, added)
	}
	if len(known) == 0 {
		return nil
	}
	return known
}
