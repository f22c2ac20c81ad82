// Package ingress is the dialect of Ingresses: the gateway of this control plane serves those of its IngressClass.
//
// In: IngressClasses, and Ingresses with the annotations of package api/ingress. Out: paths of hosts for package
// gateway, and the addresses of the gateway as the status of Ingresses. The dialect also has the settings of the
// gateway, and injects its proxy. All functions are pure. The dialect reads nothing unless it is enabled.
package ingress

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/gateway"
	"anymesh.dev/anymesh/model"
)

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable = Dialect{}
	_ dialect.Statuses     = Dialect{}
	_ dialect.Injection    = Dialect{}
	_ dialect.Transforms   = Dialect{}
	_ dialect.Installed    = Dialect{}
	_ dialect.Elsewhere    = Dialect{}
)

// Settings are the settings of the dialect.
type Settings struct {
	Gateway gateway.Settings
	// Enabled reads Ingresses and runs the gateway.
	Enabled bool
}

// values are the settings in the format of the chart value. The chart uses the other fields.
type values struct {
	Enabled   bool   `json:"enabled"`
	Namespace string `json:"namespace"`
	Replicas  int32  `json:"replicas"`
	Service   struct {
		Type        string            `json:"type"`
		Annotations map[string]string `json:"annotations"`
	} `json:"service"`
	Autoscaling struct {
		Enabled     bool  `json:"enabled"`
		MinReplicas int32 `json:"minReplicas"`
		MaxReplicas int32 `json:"maxReplicas"`
		TargetCPU   int32 `json:"targetCPUUtilizationPercentage"`
	} `json:"autoscaling"`
	PodDisruptionBudget struct {
		MaxUnavailable intstr.IntOrString `json:"maxUnavailable"`
		MinAvailable   intstr.IntOrString `json:"minAvailable"`
	} `json:"podDisruptionBudget"`
	NodeSelector              map[string]string                 `json:"nodeSelector"`
	Tolerations               []corev1.Toleration               `json:"tolerations"`
	Affinity                  corev1.Affinity                   `json:"affinity"`
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints"`

	PriorityClassName string            `json:"priorityClassName"`
	Labels            map[string]string `json:"labels"`
	Annotations       map[string]string `json:"annotations"`
	PodLabels         map[string]string `json:"podLabels"`
	PodAnnotations    map[string]string `json:"podAnnotations"`

	// OtherAPI has the settings of another dialect that the gateway serves.
	OtherAPI struct {
		Enabled bool `json:"enabled"`
	} `json:"gatewayAPI"`
	DefaultClass bool                        `json:"defaultClass"`
	TrustedHops  uint32                      `json:"trustedHops"`
	Resources    corev1.ResourceRequirements `json:"resources"`
}

// Name is the name of the folder.
func (Dialect) Name() string { return "ingress" }

// Title is the display name.
func (Dialect) Title() string { return "Ingress" }

// AddToScheme adds none: the kinds are those of Kubernetes.
func (Dialect) AddToScheme(*runtime.Scheme) error { return nil }

// Definitions returns none.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) { return nil, nil }

// Kinds returns an empty object of each kind that the rules read. A dialect that is not enabled reads none.
func (d Dialect) Kinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	return append(gateway.Kinds(), &networkingv1.IngressClass{}, &networkingv1.Ingress{})
}

// Transforms returns the transforms of cached objects that the gateway reads.
func (Dialect) Transforms() map[client.Object]cache.TransformFunc { return gateway.Transforms() }

// Values returns the default Helm values.
func (Dialect) Values() any {
	v := values{Namespace: gateway.DefaultNamespace, Replicas: 1}
	v.Service.Type, v.Service.Annotations = "LoadBalancer", map[string]string{}
	v.Autoscaling.MinReplicas, v.Autoscaling.MaxReplicas, v.Autoscaling.TargetCPU = 2, 10, 70
	v.PodDisruptionBudget.MaxUnavailable = intstr.FromInt32(1)
	v.PodDisruptionBudget.MinAvailable = intstr.FromString("")
	v.NodeSelector, v.Tolerations = map[string]string{}, []corev1.Toleration{}
	v.Labels, v.Annotations = map[string]string{}, map[string]string{}
	v.PodLabels, v.PodAnnotations = map[string]string{}, map[string]string{}
	v.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
	}}
	return v
}

// Configure returns the dialect with the given Helm values.
func (d Dialect) Configure(s dialect.Settings) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(s.Values[d.Name()], &v); err != nil {
		return nil, err
	}
	if err := dialect.CheckTrustedHops(v.TrustedHops); err != nil {
		return nil, fmt.Errorf("trustedHops %w", err)
	}
	return Dialect{Settings{
		gateway.Settings{TrustDomain: s.TrustDomain, Namespace: v.Namespace, TrustedHops: v.TrustedHops}, v.Enabled,
	}}, nil
}

func originOf(group, kind string, o metav1.Object, created int64) model.Origin {
	return model.NewOrigin(model.ObjectRef{Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}).CreatedAt(created)
}
