// Package dryrun plans what the control plane writes for the Routes and applications of manifests, without a cluster.
//
// In: the objects of manifests. Out: a snapshot of these objects and of the planned ones, the source of each planned
// object, and why objects could not be planned. It is a pure function.
package dryrun

import (
	"crypto/x509"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/builtin"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/issuer"
	"anymesh.dev/anymesh/internal/trait/oam"
	"anymesh.dev/anymesh/internal/trait/provider"
	"anymesh.dev/anymesh/internal/trait/route"
)

// Source is the object and field from which an object was planned.
type Source struct {
	Object controller.ObjectKey
	// Path is the field, or empty for the whole object.
	Path string
}

// Failure is why the objects of an application or of a workload of OAM are not planned.
type Failure struct {
	Object controller.ObjectKey
	Reason provider.Reason
}

// Result is what the control plane would write.
type Result struct {
	// Cluster has the objects of the manifests and the planned ones.
	Cluster Cluster
	// Planned are the planned objects. Pods of workloads are not among them.
	Planned []*unstructured.Unstructured
	// Sources are the sources of the planned objects.
	Sources map[controller.ObjectKey]Source
	// Failures are those of applications and workloads. That of a Route is in its description.
	Failures []Failure
}

// Run plans the objects of all applications, workloads and Routes. Each object needs a namespace, unless its kind has
// none. The objects get UIDs, and references to their owners get those of the owners.
func Run(objects []*unstructured.Unstructured) *Result {
	r := &Result{Sources: map[controller.ObjectKey]Source{}}
	for _, o := range objects {
		r.add(o.DeepCopy())
	}
	r.resolveOwners()
	all := func(*unstructured.Unstructured) bool { return true }
	r.plan(oam.Applications{}, all, applicationSources)
	r.plan(oam.ContainerizedWorkloads{}, all, nil)
	r.plan(oam.PodSpecWorkloads{}, all, nil)
	for _, o := range slices.Clone(r.Cluster.Objects) {
		r.addPod(o)
	}
	// Rules may refer to the Services of Routes.
	r.plan(planner(), func(o *unstructured.Unstructured) bool { return o.GroupVersionKind() == provider.ServiceKind }, nil)
	r.plan(planner(), all, nil)
	return r
}

// planner returns the planner of Routes, with all providers of this program. No authority has issued a certificate.
func planner() *route.Planner {
	return &route.Planner{Providers: builtin.Providers(), Certificates: issuer.Plans{Roots: x509.NewCertPool()}}
}

// Routes returns the Routes of the manifests and of their applications, ordered by namespace and name.
func (r *Result) Routes() []*unstructured.Unstructured {
	return r.Cluster.List(standard.RouteKind, "")
}

// Describe describes a Route of the result.
func (r *Result) Describe(o *unstructured.Unstructured) route.Description {
	return planner().Describe(o, r.Cluster)
}

// add adds an object with a UID.
func (r *Result) add(o *unstructured.Unstructured) {
	if o.GetUID() == "" {
		o.SetUID(types.UID(fmt.Sprintf("%s %s/%s", o.GroupVersionKind().GroupKind(), o.GetNamespace(), o.GetName())))
	}
	r.Cluster.Objects = append(r.Cluster.Objects, o)
}

// resolveOwners sets the UIDs of references to owners in the manifests: the authors of manifests do not know them.
func (r *Result) resolveOwners() {
	for _, o := range r.Cluster.Objects {
		refs := o.GetOwnerReferences()
		for i, ref := range refs {
			for _, owner := range r.Cluster.Objects {
				if owner.GetAPIVersion() == ref.APIVersion && owner.GetKind() == ref.Kind && owner.GetName() == ref.Name &&
					owner.GetNamespace() == o.GetNamespace() {
					refs[i].UID = owner.GetUID()
				}
			}
		}
		if len(refs) > 0 {
			o.SetOwnerReferences(refs)
		}
	}
}

// sourcesOf returns the sources of the objects of a plan, in their order.
type sourcesOf func(owner *unstructured.Unstructured, objects int) []Source

// plan plans the objects of all owners of a kind, as far as they are wanted. An object that exists is not replaced.
func (r *Result) plan(p controller.Planner, wanted func(*unstructured.Unstructured) bool, sources sourcesOf) {
	for _, owner := range r.Cluster.List(p.Kind(), "") {
		plan := p.Plan(owner, r.Cluster)
		if failure := failureOf(plan); failure != nil && p.Kind() != standard.RouteKind {
			r.Failures = append(r.Failures, Failure{controller.KeyOf(owner), *failure})
		}
		var from []Source
		if sources != nil {
			from = sources(owner, len(plan.Objects))
		}
		for i, o := range plan.Objects {
			if !wanted(o) || r.Cluster.Get(o.GroupVersionKind(), o.GetNamespace(), o.GetName()) != nil {
				continue
			}
			o = o.DeepCopy()
			o.SetCreationTimestamp(owner.GetCreationTimestamp()) // which of two conflicting objects is older
			o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
			r.add(o)
			r.Planned = append(r.Planned, o)
			source := Source{Object: controller.KeyOf(owner)}
			if i < len(from) {
				source = from[i]
			}
			r.Sources[controller.KeyOf(o)] = source
		}
	}
}

// failureOf returns the reason of the condition Synced of a plan if it is False.
func failureOf(plan controller.Plan) *provider.Reason {
	for _, c := range plan.Status(controller.Outcome{}).Conditions {
		if c.Type == controller.Synced && c.Status == metav1.ConditionFalse {
			return &provider.Reason{Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}
