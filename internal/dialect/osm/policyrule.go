package osm

import (
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// policyRule is the part that the rules of SMI's and OSM's policies share: the mesh of the object, and findings.
type policyRule struct {
	membership
	members  *incremental.Emitter[model.ObjectRef, string]
	findings store.Output[model.ObjectRef, model.Finding]
}

func (r *rules) readsPolicies(rule *incremental.Rule) policyRule {
	return policyRule{r.readsMembership(rule), incremental.Emits(rule, r.out.Members), r.out.EmitsFindings(rule)}
}

// member returns the origin and the mesh of an object. It reports false if its namespace is not a member of one, after
// a finding unless it is a member of a mesh with another name.
func (r *policyRule) member(group, kind string, o metav1.Object) (at model.Origin, mesh string, is bool) {
	at = originOf(group, kind, o)
	if mesh, is = r.of(o.GetNamespace()); !is {
		if r.foreign(o.GetNamespace()) {
			return at, "", false
		}
		r.report(at, "", model.CodeNoMesh, "%s", r.notMember(o.GetNamespace()))
		return at, "", false
	}
	r.members.Emit(at.Object(), mesh)
	return at, mesh, true
}

func (r *policyRule) report(at model.Origin, path string, code model.Code, format string, args ...any) {
	r.findings.Emit(model.NewFinding(at.At(path), code, fmt.Sprintf(format, args...)))
}

// warn reports something that has effect, though perhaps not as the user expects.
func (r *policyRule) warn(at model.Origin, path string, code model.Code, format string, args ...any) {
	f := model.NewFinding(at.At(path), code, fmt.Sprintf(format, args...))
	f.Severity = model.Warning
	r.findings.Emit(f)
}

// account returns the account of a reference. It reports false, after a finding, if the reference is not one.
func (r *policyRule) account(at model.Origin, path, kind, name, namespace string) (types.NamespacedName, bool) {
	switch {
	case kind != kindServiceAccount:
		r.report(at, path+".kind", model.CodeInvalidField, "%q is not %s; it has no effect", kind, kindServiceAccount)
	case name == "":
		r.report(at, path+".name", model.CodeInvalidField, "is required; without it, the entry has no effect")
	case namespace == "":
		r.report(at, path+".namespace", model.CodeInvalidField, "is required; without it, the entry has no effect")
	default:
		return types.NamespacedName{Namespace: namespace, Name: name}, true
	}
	return types.NamespacedName{}, false
}

// inGroup reports whether a reference has an API group, with or without a version, or none. It reports false after a
// finding.
func (r *policyRule) inGroup(at model.Origin, path string, apiGroup *string, want string) bool {
	group := groupOf(apiGroup)
	if group == "" || group == want {
		return true
	}
	r.report(at, path+".apiGroup", model.CodeInvalidField, "%q is not %s; the entry has no effect", *apiGroup, want)
	return false
}

// routeGroup returns an HTTPRouteGroup. It reports false, after a finding, if there is none.
func (r *policyRule) routeGroup(at model.Origin, path string, name types.NamespacedName,
	groups *incremental.Reader[types.NamespacedName, *httpGroup]) (*httpGroup, bool) {
	group, known := groups.ReadFirst(name)
	if !known {
		r.report(at, path, model.CodeReferenceNotFound, "%s %s does not exist", kindHTTPRouteGroup, name)
	}
	return group, known
}

// clusterService returns a Service. It reports false, after a finding, if there is none.
func (r *policyRule) clusterService(at model.Origin, path string, name types.NamespacedName,
	services *incremental.Reader[types.NamespacedName, *corev1.Service]) (*corev1.Service, bool) {
	service, exists := services.ReadFirst(name)
	if !exists {
		r.report(at, path, model.CodeReferenceNotFound, "Service %s does not exist", name)
	}
	return service, exists
}

// addressRange returns a range of addresses. It reports false, after a finding, if it is not one.
func (r *policyRule) addressRange(at model.Origin, path, text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	if err == nil {
		return p.Masked(), true
	}
	if a, err := netip.ParseAddr(text); err == nil {
		r.report(at, path, model.CodeInvalidField, "%s is an address without a prefix, and has no effect; write %s/%d", text,
			text, a.BitLen())
		return netip.Prefix{}, false
	}
	r.report(at, path, model.CodeInvalidField, "%q is not a range of addresses such as 10.0.0.0/24; it has no effect", text)
	return netip.Prefix{}, false
}
