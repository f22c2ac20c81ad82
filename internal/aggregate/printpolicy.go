package aggregate

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var disruptionBudgetPrinter = printed("Name,Min Available,Max Unavailable,Allowed Disruptions,Age",
	func(b *policyv1.PodDisruptionBudget) []any {
		return []any{
			b.Name, orNotApplicable(b.Spec.MinAvailable), orNotApplicable(b.Spec.MaxUnavailable),
			b.Status.DisruptionsAllowed, age(b.CreationTimestamp),
		}
	})

func orNotApplicable(v *intstr.IntOrString) string {
	if v == nil {
		return "N/A"
	}
	return v.String()
}

var quotaPrinter = printed("Name,Request,Limit,Age", func(q *corev1.ResourceQuota) []any {
	var names []string
	for name := range q.Status.Hard {
		names = append(names, string(name))
	}
	slices.Sort(names)
	var requests, limits []string
	for _, name := range names {
		used, hard := q.Status.Used[corev1.ResourceName(name)], q.Status.Hard[corev1.ResourceName(name)]
		cell := fmt.Sprintf("%s: %s/%s", name, used.String(), hard.String())
		if strings.HasPrefix(name, "limits.") {
			limits = append(limits, cell)
		} else {
			requests = append(requests, cell)
		}
	}
	return []any{q.Name, strings.Join(requests, ", "), strings.Join(limits, ", "), age(q.CreationTimestamp)}
})

var networkPolicyPrinter = printed("Name,Pod-Selector,Age", func(p *networkingv1.NetworkPolicy) []any {
	return []any{p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), age(p.CreationTimestamp)}
})

var ingressClassPrinter = printed("Name,Controller,Parameters,Age", func(c *networkingv1.IngressClass) []any {
	parameters := "<none>"
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	name := withDefault(c.Name, c.Annotations, networkingv1.AnnotationIsDefaultIngressClass)
	return []any{name, c.Spec.Controller, parameters, age(c.CreationTimestamp)}
})

// withDefault marks the name of a class whose annotation says that it is the default.
func withDefault(name string, annotations map[string]string, keys ...string) string {
	if slices.ContainsFunc(keys, func(key string) bool { return annotations[key] == "true" }) {
		return name + " (default)"
	}
	return name
}

var priorityClassPrinter = printed("Name,Value,Global-Default,Age|PreemptionPolicy",
	func(c *schedulingv1.PriorityClass) []any {
		return []any{c.Name, c.Value, c.GlobalDefault, age(c.CreationTimestamp), string(orZero(c.PreemptionPolicy))}
	})

var runtimeClassPrinter = printed("Name,Handler,Age", func(c *nodev1.RuntimeClass) []any {
	return []any{c.Name, c.Handler, age(c.CreationTimestamp)}
})

var serviceAccountPrinter = printed("Name,Age", func(a *corev1.ServiceAccount) []any {
	return []any{a.Name, age(a.CreationTimestamp)}
})

const bindingColumns = "Name,Role,Age|Users,Groups,ServiceAccounts"

var roleBindingPrinter = printed(bindingColumns, func(b *rbacv1.RoleBinding) []any {
	return bindingCells(b.ObjectMeta, b.RoleRef, b.Subjects)
})

var clusterRoleBindingPrinter = printed(bindingColumns, func(b *rbacv1.ClusterRoleBinding) []any {
	return bindingCells(b.ObjectMeta, b.RoleRef, b.Subjects)
})

func bindingCells(o metav1.ObjectMeta, role rbacv1.RoleRef, subjects []rbacv1.Subject) []any {
	var users, groups, accounts []string
	for _, s := range subjects {
		switch s.Kind {
		case rbacv1.ServiceAccountKind:
			accounts = append(accounts, s.Namespace+"/"+s.Name)
		case rbacv1.UserKind:
			users = append(users, s.Name)
		case rbacv1.GroupKind:
			groups = append(groups, s.Name)
		}
	}
	return []any{
		o.Name, role.Kind + "/" + role.Name, age(o.CreationTimestamp), strings.Join(users, ", "),
		strings.Join(groups, ", "), strings.Join(accounts, ", "),
	}
}

var mutatingWebhookPrinter = printed("Name,Webhooks,Age", func(w *admissionv1.MutatingWebhookConfiguration) []any {
	return []any{w.Name, len(w.Webhooks), age(w.CreationTimestamp)}
})

var validatingWebhookPrinter = printed("Name,Webhooks,Age",
	func(w *admissionv1.ValidatingWebhookConfiguration) []any {
		return []any{w.Name, len(w.Webhooks), age(w.CreationTimestamp)}
	})

var signingRequestPrinter = printed("Name,Age,SignerName,Requestor,RequestedDuration,Condition",
	func(r *certificatesv1.CertificateSigningRequest) []any {
		has := func(t certificatesv1.RequestConditionType) bool {
			return slices.ContainsFunc(r.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
				return c.Type == t
			})
		}
		state := "Pending"
		if has(certificatesv1.CertificateDenied) {
			state = "Denied"
		} else if has(certificatesv1.CertificateApproved) {
			state = "Approved"
		}
		if has(certificatesv1.CertificateFailed) {
			state += ",Failed"
		}
		if len(r.Status.Certificate) > 0 {
			state += ",Issued"
		}
		requested := "<none>"
		if r.Spec.ExpirationSeconds != nil {
			requested = duration.HumanDuration(time.Duration(*r.Spec.ExpirationSeconds) * time.Second)
		}
		return []any{
			r.Name, age(r.CreationTimestamp), orNone(r.Spec.SignerName), r.Spec.Username, requested, state,
		}
	})

var controllerRevisionPrinter = printed("Name,Controller,Revision,Age", func(r *appsv1.ControllerRevision) []any {
	controller := "<none>"
	if ref := metav1.GetControllerOf(r); ref != nil {
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		controller = strings.ToLower(kind.String()) + "/" + ref.Name
	}
	return []any{r.Name, controller, r.Revision, age(r.CreationTimestamp)}
})

var replicationControllerPrinter = printed("Name,Desired,Current,Ready,Age|Containers,Images,Selector",
	func(c *corev1.ReplicationController) []any {
		var containers, images string
		if c.Spec.Template != nil {
			containers, images = names(c.Spec.Template.Spec.Containers)
		}
		return []any{
			c.Name, orZero(c.Spec.Replicas), c.Status.Replicas, c.Status.ReadyReplicas, age(c.CreationTimestamp),
			containers, images, formatLabels(c.Spec.Selector),
		}
	})

var podTemplatePrinter = printed("Name,Containers,Images,Pod Labels", func(p *corev1.PodTemplate) []any {
	containers, images := names(p.Template.Spec.Containers)
	return []any{p.Name, containers, images, formatLabels(p.Template.Labels)}
})

//nolint:staticcheck // Members have Endpoints, which are deprecated.
var endpointsPrinter = printed("Name,Endpoints,Age", func(e *corev1.Endpoints) []any {
	var all []string
	for _, s := range e.Subsets {
		for _, a := range s.Addresses {
			if len(s.Ports) == 0 {
				all = append(all, a.IP)
			}
		}
		for _, p := range s.Ports {
			for _, a := range s.Addresses {
				all = append(all, net.JoinHostPort(a.IP, strconv.Itoa(int(p.Port))))
			}
		}
	}
	return []any{e.Name, firstOf(all, endpointsOrNone(len(e.Subsets))), age(e.CreationTimestamp)}
})

func endpointsOrNone(subsets int) string {
	if subsets == 0 {
		return "<none>"
	}
	return ""
}
