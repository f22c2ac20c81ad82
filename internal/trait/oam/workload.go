package oam

import (
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	standard "anymesh.dev/anymesh/api/oam/standard/v1alpha1"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

var (
	deploymentKind = appsv1.SchemeGroupVersion.WithKind("Deployment")
	configMapKind  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
)

// kindsOfWorkloads are the kinds of the objects of workloads.
func kindsOfWorkloads() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{deploymentKind, discovery.ServiceKind, configMapKind}
}

// result is the plan of a workload.
type result struct {
	objects     []runtime.Object
	failure     *provider.Reason
	unsupported []provider.Unsupported
}

// plan returns the plan of a workload.
func (w result) plan() controller.Plan {
	var out controller.Plan
	if w.failure == nil {
		for _, o := range w.objects {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				w.failure = &provider.Reason{Reason: "InvalidWorkload", Message: err.Error()}
				break
			}
			out.Objects = append(out.Objects, &unstructured.Unstructured{Object: content})
		}
	}
	objects := out.Objects
	if w.failure == nil {
		out.Prunes = kindsOfWorkloads()
	} else {
		out.Objects = nil
	}
	out.Status = func(outcome controller.Outcome) controller.Status {
		conditions := []core.Condition{synced(outcome, w.failure)}
		if len(w.unsupported) > 0 {
			text := ""
			for _, u := range w.unsupported {
				text += u.Field + ": " + u.Text + "; "
			}
			conditions = append(conditions, core.Condition{
				Type: controller.PartiallySupported, Status: metav1.ConditionTrue, Reason: "FieldsNotSupported",
				Message: text[:len(text)-2],
			})
		}
		var resources []any
		for _, o := range objects {
			if uid := outcome.UIDs[controller.KeyOf(o)]; uid != "" {
				resources = append(resources, map[string]any{
					"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "name": o.GetName(), "uid": string(uid),
				})
			}
		}
		fields := map[string]any{}
		if resources != nil {
			fields["resources"] = resources
		}
		return controller.Status{Fields: fields, Conditions: conditions}
	}
	return out
}

// deployment returns the Deployment of a workload. Its pods have the labels of the workload, and one with its UID,
// which selects them.
func deployment(owner metav1.Object, selector map[string]string, replicas *int32,
	spec corev1.PodSpec) *appsv1.Deployment {
	labels := maps.Clone(owner.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, selector)
	out := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: owner.GetLabels()},
		Spec: appsv1.DeploymentSpec{
			Replicas: replicas, Selector: &metav1.LabelSelector{MatchLabels: selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}
	out.SetGroupVersionKind(deploymentKind)
	return out
}

func service(owner metav1.Object, selector map[string]string, ports []corev1.ServicePort) *corev1.Service {
	out := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: owner.GetNamespace(), Name: owner.GetName(), Labels: owner.GetLabels()},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Selector: selector, Ports: ports},
	}
	out.SetGroupVersionKind(discovery.ServiceKind)
	return out
}

// PodSpecWorkloads plans the objects of PodSpecWorkloads. It implements controller.Planner.
type PodSpecWorkloads struct{}

// Kind implements controller.Planner.
func (PodSpecWorkloads) Kind() schema.GroupVersionKind {
	return standard.GroupVersion.WithKind("PodSpecWorkload")
}

// Reads implements controller.Planner.
func (PodSpecWorkloads) Reads() []schema.GroupVersionKind { return kindsOfWorkloads() }

// podSpecLabel on pods is the UID of their PodSpecWorkload.
const podSpecLabel = "podspecworkload.oam.crossplane.io"

// firstPort is the port of the Service for the first port of the containers; the others follow.
const firstPort = 8080

// Plan implements controller.Planner.
func (PodSpecWorkloads) Plan(owner *unstructured.Unstructured, _ discovery.Reader) controller.Plan {
	var w standard.PodSpecWorkload
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Object, &w); err != nil {
		return result{failure: unreadable(err)}.plan()
	}
	selector := map[string]string{podSpecLabel: string(w.UID)}
	var ports []corev1.ServicePort
	for _, c := range w.Spec.PodSpec.Containers {
		for i := range c.Ports {
			p := &c.Ports[i]
			if p.Protocol == "" {
				p.Protocol = corev1.ProtocolTCP // it is a part of the port's key
			}
			number := firstPort + int32(len(ports))
			ports = append(ports, corev1.ServicePort{
				Name: fmt.Sprintf("port-%d", number), Port: number, Protocol: p.Protocol, TargetPort: intstr.FromInt32(p.ContainerPort),
			})
		}
	}
	out := result{objects: []runtime.Object{deployment(&w, selector, w.Spec.Replicas, w.Spec.PodSpec)}}
	if len(ports) > 0 {
		out.objects = append(out.objects, service(&w, selector, ports))
	}
	return out.plan()
}

func unreadable(err error) *provider.Reason {
	return &provider.Reason{Reason: "InvalidWorkload", Message: fmt.Sprintf("the workload cannot be read: %v; correct the field",
		err)}
}
