package osm

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// InjectionSelector selects the namespaces of meshes.
func (Dialect) InjectionSelector() []metav1.LabelSelectorRequirement {
	return []metav1.LabelSelectorRequirement{
		{Key: monitoredLabel, Operator: metav1.LabelSelectorOpExists},
		{Key: ignoreLabel, Operator: metav1.LabelSelectorOpDoesNotExist},
	}
}

// injection returns the setting in an annotation: whether it enables injection, and whether it is set.
func injection(annotations map[string]string) (enabled, set bool, err error) {
	value, set := annotations[injectionAnnotation]
	switch strings.ToLower(value) {
	case "enabled", "yes", "true":
		return true, set, nil
	case "disabled", "no", "false":
		return false, set, nil
	}
	if !set {
		return false, false, nil
	}
	return false, true, fmt.Errorf("annotation %s: %q is neither enabled nor disabled", injectionAnnotation, value)
}

// injectionOf returns the setting of a pod, else that of its namespace.
func injectionOf(pod *corev1.Pod, ns *corev1.Namespace) (bool, error) {
	enabled, set, err := injection(pod.Annotations)
	if err == nil && !set {
		enabled, _, err = injection(ns.Annotations)
		if err != nil {
			err = fmt.Errorf("namespace %s: %w", ns.Name, err)
		}
	}
	return enabled, err
}

// InjectionMode reads the annotation of the pod, else that of the namespace, without regard to case. With another
// value, SelectWorkload denies the pod.
func (d Dialect) InjectionMode(pod *corev1.Pod, ns *corev1.Namespace) dialect.InjectionMode {
	_, is := d.meshOf(ns)
	enabled, err := injectionOf(pod, ns)
	if !is || !enabled && err == nil {
		return dialect.InjectionDisabled
	}
	return dialect.InjectionEnabled
}

// WorkloadReads returns an empty object of each kind that SelectWorkload reads.
func (Dialect) WorkloadReads() []client.Object {
	return []client.Object{&corev1.Namespace{}, &corev1.ServiceAccount{}}
}

// WhyDisabled names the annotation that turns injection off, or that is missing.
func (d Dialect) WhyDisabled(pod *corev1.Pod, ns *corev1.Namespace) string {
	if _, is := d.meshOf(ns); !is {
		return fmt.Sprintf("namespace %s is not of mesh %s", ns.Name, d.meshName())
	}
	if value, is := pod.Annotations[injectionAnnotation]; is {
		return fmt.Sprintf("annotation %s of the pod is %s", injectionAnnotation, value)
	}
	if value, is := ns.Annotations[injectionAnnotation]; is {
		return fmt.Sprintf("annotation %s of namespace %s is %s", injectionAnnotation, ns.Name, value)
	}
	return fmt.Sprintf("neither the pod nor namespace %s has the annotation %s: enabled", ns.Name, injectionAnnotation)
}

// SelectWorkload returns the workload of the pod's ServiceAccount.
func (d Dialect) SelectWorkload(objects []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error) {
	account := types.NamespacedName{
		Namespace: namespace, Name: cmp.Or(pod.Spec.ServiceAccountName, defaultAccount),
	}
	key, known := model.Key{Name: account.String()}, false
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Namespace:
			if o.Name != namespace {
				continue
			}
			mesh, is := d.meshOf(o)
			if !is {
				return model.Key{}, false, nil
			}
			if _, err := injectionOf(pod, o); err != nil {
				return model.Key{}, false, err
			}
			key.Mesh = mesh
		case *corev1.ServiceAccount:
			known = known || o.Namespace == namespace && o.Name == account.Name
		}
	}
	return key, known && key.Mesh != "", nil
}

// NoWorkload returns the denial of a pod whose ServiceAccount does not exist.
func (Dialect) NoWorkload(pod *corev1.Pod) error {
	return fmt.Errorf("ServiceAccount %s/%s does not exist, or is not known yet; try again", pod.Namespace,
		cmp.Or(pod.Spec.ServiceAccountName, defaultAccount))
}

// InjectionHint tells users how to enable injection in a namespace.
func (d Dialect) InjectionHint() string {
	return "label the namespace " + monitoredLabel + "=" + d.meshName() + ", and annotate it with " +
		injectionAnnotation + ": enabled"
}
