package aggregate

import (
	"encoding/json"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"
)

// printers are those of kube-apiserver, by kind. Custom resources have the columns of their definition, other kinds
// Name and Created At.
var printers = map[string]printer{
	"v1/Pod":  podPrinter,
	"v1/Node": nodePrinter,

	"apps/v1/Deployment":  deploymentPrinter,
	"apps/v1/ReplicaSet":  replicaSetPrinter,
	"apps/v1/StatefulSet": statefulSetPrinter,
	"apps/v1/DaemonSet":   daemonSetPrinter,
	"batch/v1/Job":        jobPrinter,
	"batch/v1/CronJob":    cronJobPrinter,

	"v1/Service":                        servicePrinter,
	"discovery.k8s.io/v1/EndpointSlice": endpointSlicePrinter,
	"networking.k8s.io/v1/Ingress":      ingressPrinter,

	"v1/ConfigMap":                 configMapPrinter,
	"v1/Secret":                    secretPrinter,
	"v1/Namespace":                 namespacePrinter,
	"v1/Event":                     eventPrinter,
	"v1/PersistentVolumeClaim":     claimPrinter,
	"v1/PersistentVolume":          volumePrinter,
	"coordination.k8s.io/v1/Lease": leasePrinter,

	"autoscaling/v2/HorizontalPodAutoscaler": autoscalerPrinter,
	"policy/v1/PodDisruptionBudget":          disruptionBudgetPrinter,
	"v1/ResourceQuota":                       quotaPrinter,
	"networking.k8s.io/v1/NetworkPolicy":     networkPolicyPrinter,
	"networking.k8s.io/v1/IngressClass":      ingressClassPrinter,
	"scheduling.k8s.io/v1/PriorityClass":     priorityClassPrinter,
	"node.k8s.io/v1/RuntimeClass":            runtimeClassPrinter,
	"v1/ServiceAccount":                      serviceAccountPrinter,
	"v1/ReplicationController":               replicationControllerPrinter,
	"v1/PodTemplate":                         podTemplatePrinter,
	"v1/Endpoints":                           endpointsPrinter,
	"apps/v1/ControllerRevision":             controllerRevisionPrinter,

	"rbac.authorization.k8s.io/v1/RoleBinding":                       roleBindingPrinter,
	"rbac.authorization.k8s.io/v1/ClusterRoleBinding":                clusterRoleBindingPrinter,
	"admissionregistration.k8s.io/v1/MutatingWebhookConfiguration":   mutatingWebhookPrinter,
	"admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration": validatingWebhookPrinter,
	"certificates.k8s.io/v1/CertificateSigningRequest":               signingRequestPrinter,

	"storage.k8s.io/v1/StorageClass":       storageClassPrinter,
	"storage.k8s.io/v1/VolumeAttachment":   attachmentPrinter,
	"storage.k8s.io/v1/CSINode":            csiNodePrinter,
	"storage.k8s.io/v1/CSIDriver":          csiDriverPrinter,
	"storage.k8s.io/v1/CSIStorageCapacity": csiCapacityPrinter,
}

// printed makes a printer of a Go type. Columns are separated by commas; those after a bar are in wide tables only.
func printed[T any](columns string, cells func(*T) []any) printer {
	p := printer{cells: func(object []byte) ([]any, error) {
		o := new(T)
		if err := json.Unmarshal(object, o); err != nil {
			return nil, err
		}
		return cells(o), nil
	}}
	always, wide, _ := strings.Cut(columns, "|")
	for priority, names := range []string{always, wide} {
		for _, name := range strings.Split(names, ",") {
			if name != "" {
				p.columns = append(p.columns, column(name, int32(priority)))
			}
		}
	}
	return p
}

// createdPrinter is that of built-in kinds for which kube-apiserver has no columns, such as Role and LimitRange.
var createdPrinter = printed("Name,Created At", func(o *metav1.PartialObjectMetadata) []any {
	return []any{o.Name, o.CreationTimestamp.UTC().Format(time.RFC3339)}
})

// since is the age of a time that may be missing.
func since(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return "<none>"
	}
	return duration.HumanDuration(time.Since(t.Time))
}

// names joins the names and the images of containers.
func names(of []corev1.Container) (names, images string) {
	var n, i []string
	for _, c := range of {
		n, i = append(n, c.Name), append(i, c.Image)
	}
	return strings.Join(n, ","), strings.Join(i, ",")
}

// formatLabels prints labels in order.
func formatLabels(of map[string]string) string {
	return orNone(labels.Set(of).String())
}

func orZero[T any](p *T) T {
	if p == nil {
		return *new(T)
	}
	return *p
}

// accessModes prints modes as RWO,ROX,RWX,RWOP, each once.
func accessModes(of []corev1.PersistentVolumeAccessMode) string {
	short := map[corev1.PersistentVolumeAccessMode]string{
		corev1.ReadWriteOnce: "RWO", corev1.ReadOnlyMany: "ROX", corev1.ReadWriteMany: "RWX", corev1.ReadWriteOncePod: "RWOP",
	}
	var out []string
	for _, mode := range []corev1.PersistentVolumeAccessMode{
		corev1.ReadWriteOnce, corev1.ReadOnlyMany, corev1.ReadWriteMany, corev1.ReadWriteOncePod,
	} {
		for _, m := range of {
			if m == mode {
				out = append(out, short[mode])
				break
			}
		}
	}
	return strings.Join(out, ",")
}
