// Package ingress is the dialect of Ingresses: a gateway of this control plane serves those of its IngressClass, and
// the HTTPRoutes of Gateways of its GatewayClass.
//
// In: IngressClasses, Ingresses with the annotations of package api/ingress, their Services and EndpointSlices, and the
// pods of the gateway; GatewayClasses, Gateways, ListenerSets and HTTPRoutes, if a setting enables them. Out: the mesh
// "ingress" with the gateway as its workload; a service for each host name, which the gateway reaches, with the paths
// of all Ingresses and HTTPRoutes for the host; a destination for each port of a Service; for objects of Gateway API,
// their state as membership. All functions are pure. The dialect reads nothing unless it is enabled.
package ingress

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
)

// Dialect is the dialect with its settings.
type Dialect struct{ Settings }

// What the dialect is besides a dialect.
var (
	_ dialect.Configurable  = Dialect{}
	_ dialect.Statuses      = Dialect{}
	_ dialect.Injection     = Dialect{}
	_ dialect.Transforms    = Dialect{}
	_ dialect.Installed     = Dialect{}
	_ dialect.OptionalKinds = Dialect{}
)

// Settings are the settings of the gateway.
type Settings struct {
	// TrustDomain is the trust domain of the gateway's identity.
	TrustDomain string
	// Enabled reads Ingresses and runs the gateway.
	Enabled bool
	// GatewayAPI reads the kinds of Gateway API. It has no effect unless Enabled is true.
	GatewayAPI bool
	// Namespace is the namespace of the gateway's pods. No other pod becomes a gateway.
	Namespace string
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

	GatewayAPI struct {
		Enabled bool `json:"enabled"`
	} `json:"gatewayAPI"`
	DefaultClass bool                        `json:"defaultClass"`
	Resources    corev1.ResourceRequirements `json:"resources"`
}

// Name is the name of the folder.
func (Dialect) Name() string { return "ingress" }

// Title is the display name.
func (Dialect) Title() string { return "Ingress" }

// AddToScheme adds the kinds of Kubernetes and of Gateway API.
func (Dialect) AddToScheme(s *runtime.Scheme) error {
	if err := networkingv1.AddToScheme(s); err != nil {
		return err
	}
	if err := gatewayv1.Install(s); err != nil {
		return err
	}
	return discoveryv1.AddToScheme(s)
}

// Definitions returns none: others install the kinds of Gateway API.
func (Dialect) Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) { return nil, nil }

// Kinds returns an empty object of each kind that the rules read. A dialect that is not enabled reads none.
func (d Dialect) Kinds() []client.Object {
	if !d.Enabled {
		return nil
	}
	out := []client.Object{
		&corev1.Namespace{}, &corev1.Pod{}, &corev1.Service{}, &discoveryv1.EndpointSlice{}, &networkingv1.IngressClass{},
		&networkingv1.Ingress{},
	}
	if d.GatewayAPI {
		out = append(out, gatewayKinds()...)
	}
	return out
}

// gatewayKinds returns an empty object of each kind of Gateway API.
func gatewayKinds() []client.Object {
	return []client.Object{
		&gatewayv1.GatewayClass{}, &gatewayv1.Gateway{}, &gatewayv1.ListenerSet{}, &gatewayv1.HTTPRoute{},
	}
}

// OptionalKinds returns the kinds that the cluster may not have.
func (d Dialect) OptionalKinds() []client.Object {
	if !d.Enabled || !d.GatewayAPI {
		return nil
	}
	return gatewayKinds()
}

// Values returns the default Helm values.
func (Dialect) Values() any {
	v := values{Namespace: "anymesh-gateway", Replicas: 1}
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
func (d Dialect) Configure(trustDomain string, raw json.RawMessage) (dialect.Dialect, error) {
	v := d.Values().(values)
	if err := dialect.Decode(raw, &v); err != nil {
		return nil, err
	}
	return Dialect{Settings{TrustDomain: trustDomain, Enabled: v.Enabled, GatewayAPI: v.GatewayAPI.Enabled, Namespace: v.Namespace}}, nil
}

// mesh is the name of the mesh of the gateway.
const mesh = "ingress"

// The gateway listens on these ports, for HTTP and for HTTPS. Its Service maps 80 and 443 to them.
const (
	httpPort  = 8080
	httpsPort = 8443
)

// gatewayKey is the key of the workload.
var gatewayKey = model.Key{Mesh: mesh, Name: "gateway"}

// gatewayName is the name of the gateway's Deployment, and the value of gatewayLabel on its pods and its namespace.
const (
	gatewayName  = "anymesh-gateway"
	gatewayLabel = "anymesh.dev/gateway"
)

// gatewayOrigin is the origin of the gateway.
func (d Dialect) gatewayOrigin() model.Origin {
	return model.NewOrigin(model.ObjectRef{
		Group: "apps", Kind: "Deployment", Namespace: d.Namespace, Name: gatewayName,
	})
}

func originOf(group, kind string, o metav1.Object, created int64) model.Origin {
	return model.NewOrigin(model.ObjectRef{Group: group, Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()}).CreatedAt(created)
}
