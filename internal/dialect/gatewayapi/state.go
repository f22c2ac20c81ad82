package gatewayapi

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// condition is a condition of an object, without times.
type condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

func yes[T, R ~string](kind T, reason R) condition {
	return condition{string(kind), true, string(reason), ""}
}

func no[T, R ~string](kind T, reason R, message string) condition {
	return condition{string(kind), false, string(reason), message}
}

// state is what the status of an object says.
type state struct {
	conditions []condition
	listeners  []listenerState // of a Gateway or a ListenerSet
	parents    []parentState   // of an HTTPRoute
	addresses  []string        // of a Gateway
	sets       int32           // ListenerSets of a Gateway
}

type listenerState struct {
	name       gatewayv1.SectionName
	secret     string // NAMESPACE/NAME, or ""
	routes     int32
	httpRoute  bool
	conditions []condition
}

type parentState struct {
	ref        gatewayv1.ParentReference
	conditions []condition
}

// StatusKinds returns an empty object of each kind of Gateway API.
func (d Dialect) StatusKinds() []client.Object { return d.OptionalKinds() }

// Status returns a copy of an object with what is served of it. Of another class, its status belongs to others, and is
// not changed.
func (Dialect) Status(object client.Object, in dialect.StatusInput) client.Object {
	out := object.DeepCopyObject().(client.Object)
	s, _ := dialect.StateOf[state](in)
	w := conditionWriter{out.GetGeneration(), metav1.NewTime(in.Now.Truncate(time.Second))}
	switch o := out.(type) {
	case *gatewayv1.GatewayClass:
		o.Status.Conditions = w.apply(o.Status.Conditions, s.conditions)
	case *gatewayv1.Gateway:
		if len(s.conditions) > 0 { // otherwise it is of another class
			w.gateway(&o.Status, s.withoutCertificates(in.Findings))
		}
	case *gatewayv1.ListenerSet:
		if len(s.conditions) > 0 {
			w.listenerSet(&o.Status, s.withoutCertificates(in.Findings))
		}
	case *gatewayv1.HTTPRoute:
		w.route(&o.Status.RouteStatus, s, dropped(in.Findings))
	}
	return out
}

// conditionWriter writes conditions of an object of a generation.
type conditionWriter struct {
	generation int64
	now        metav1.Time
}

// apply returns the conditions with those of a state.
func (w conditionWriter) apply(to []metav1.Condition, all []condition) []metav1.Condition {
	to = slices.Clone(to)
	for _, c := range all {
		status := metav1.ConditionFalse
		if c.True {
			status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&to, metav1.Condition{
			Type: c.Type, Status: status, Reason: c.Reason, Message: c.Message, ObservedGeneration: w.generation,
			LastTransitionTime: w.now,
		})
	}
	return to
}

func (w conditionWriter) gateway(to *gatewayv1.GatewayStatus, s state) {
	before := to.Listeners
	to.Conditions = w.apply(to.Conditions, s.conditions)
	to.Listeners, to.Addresses, to.AttachedListenerSets = nil, nil, &s.sets
	for _, l := range s.listeners {
		var old []metav1.Condition
		if i := slices.IndexFunc(before, func(b gatewayv1.ListenerStatus) bool { return b.Name == l.name }); i >= 0 {
			old = before[i].Conditions
		}
		to.Listeners = append(to.Listeners, gatewayv1.ListenerStatus{
			Name: l.name, SupportedKinds: l.kinds(), AttachedRoutes: l.routes, Conditions: w.apply(old, l.conditions),
		})
	}
	for _, address := range s.addresses {
		kind := gatewayv1.HostnameAddressType
		if _, err := netip.ParseAddr(address); err == nil {
			kind = gatewayv1.IPAddressType
		}
		to.Addresses = append(to.Addresses, gatewayv1.GatewayStatusAddress{Type: &kind, Value: address})
	}
}

func (w conditionWriter) listenerSet(to *gatewayv1.ListenerSetStatus, s state) {
	before := to.Listeners
	to.Conditions, to.Listeners = w.apply(to.Conditions, s.conditions), nil
	for _, l := range s.listeners {
		var old []metav1.Condition
		if i := slices.IndexFunc(before, func(b gatewayv1.ListenerEntryStatus) bool { return b.Name == l.name }); i >= 0 {
			old = before[i].Conditions
		}
		to.Listeners = append(to.Listeners, gatewayv1.ListenerEntryStatus{
			Name: l.name, SupportedKinds: l.kinds(), AttachedRoutes: l.routes, Conditions: w.apply(old, l.conditions),
		})
	}
}

// route writes the parents that are ours; unsupported is the text about what is not served, or empty.
func (w conditionWriter) route(to *gatewayv1.RouteStatus, s state, unsupported string) {
	before := to.Parents
	to.Parents = slices.DeleteFunc(slices.Clone(before), func(p gatewayv1.RouteParentStatus) bool {
		return p.ControllerName == api.Controller
	})
	for _, p := range s.parents {
		var old []metav1.Condition
		for _, b := range before {
			if b.ControllerName == api.Controller && sameRef(b.ParentRef, p.ref) {
				old = slices.DeleteFunc(slices.Clone(b.Conditions), func(c metav1.Condition) bool {
					return c.Type == string(gatewayv1.RouteConditionPartiallyInvalid)
				})
			}
		}
		conditions := p.conditions
		if unsupported != "" {
			conditions = append(conditions, condition{
				string(gatewayv1.RouteConditionPartiallyInvalid), true, string(gatewayv1.RouteReasonUnsupportedValue), unsupported,
			})
		}
		to.Parents = append(to.Parents, gatewayv1.RouteParentStatus{
			ParentRef: p.ref, ControllerName: api.Controller, Conditions: w.apply(old, conditions),
		})
	}
	if to.Parents == nil {
		to.Parents = []gatewayv1.RouteParentStatus{}
	}
}

func (l listenerState) kinds() []gatewayv1.RouteGroupKind {
	if !l.httpRoute {
		return []gatewayv1.RouteGroupKind{}
	}
	group := gatewayv1.Group(gatewayv1.GroupName)
	return []gatewayv1.RouteGroupKind{{Group: &group, Kind: "HTTPRoute"}}
}

// dropped returns the text of the condition PartiallyInvalid for the rules that another object has, or "".
func dropped(findings []model.Finding) string {
	var out []string
	for _, f := range findings {
		ofRule := f.Code == model.CodeInvalidField && strings.Contains(f.Path, ".matches[")
		if f.Code == model.CodeNameConflict || ofRule {
			out = append(out, f.Path+": "+f.Text)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return "Dropped Rule: " + strings.Join(out, "; ")
}

func sameRef(a, b gatewayv1.ParentReference) bool {
	text := func(r gatewayv1.ParentReference) string {
		out, err := json.Marshal(r)
		if err != nil {
			panic(err) // the type has only texts and numbers
		}
		return string(out)
	}
	return text(a) == text(b)
}
