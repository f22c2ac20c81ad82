package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
)

// RouteSpec is the desired state of a Route.
type RouteSpec struct {
	// WorkloadReference is the workload that the Route leads to: a Deployment, StatefulSet, DaemonSet, Job, Pod, or a
	// custom resource, in the namespace of the Route.
	// +optional
	WorkloadReference core.TypedReference `json:"workloadRef,omitempty"`
	// Host is the host name of all rules. If it is empty or local (localhost, a name below it, or a loopback address),
	// the Route has a Service only.
	Host string `json:"host"`
	// TLS is the certificate of the host. If it is absent, the host is served with plain HTTP.
	// +optional
	TLS *TLS `json:"tls,omitempty"`
	// Rules are the rules of the host. If there are none, there is one rule for all paths and the first port.
	// +optional
	Rules []Rule `json:"rules,omitempty"`
	// Provider is the implementation of ingress. If it is empty, the setting of the control plane applies, or else the
	// provider that the cluster has.
	// +optional
	Provider string `json:"provider,omitempty"`
	// IngressClass is the class of the ingress controller, or the Gateway. If it is empty, the default of the provider
	// applies.
	// +optional
	IngressClass string `json:"ingressClass,omitempty"`
}

// Rule is a rule of a Route.
type Rule struct {
	// Name is the suffix of the names of the objects of this rule. It is unique in the Route. The default is the index
	// of the rule.
	// +optional
	Name string `json:"name,omitempty"`
	// Path is the prefix of the paths of the rule. The default is /.
	// +optional
	Path string `json:"path,omitempty"`
	// RewriteTarget replaces the prefix in requests to the backend.
	// +optional
	RewriteTarget string `json:"rewriteTarget,omitempty"`
	// CustomHeaders are headers of requests to the backend.
	// +optional
	CustomHeaders map[string]string `json:"customHeaders,omitempty"`
	// DefaultBackend is used if the backend is not available.
	// +optional
	DefaultBackend *core.TypedReference `json:"defaultBackend,omitempty"`
	// Backend is the Service of the rule. If it is absent, it is discovered from the workload.
	// +optional
	Backend *Backend `json:"backend,omitempty"`
}

// TLS says who issues the certificate of the host.
type TLS struct {
	// IssuerName is the name of the issuer.
	// +optional
	IssuerName string `json:"issuerName,omitempty"`
	// Type is the kind of the issuer: Issuer or ClusterIssuer.
	// +kubebuilder:default:=Issuer
	// +optional
	Type IssuerType `json:"type,omitempty"`
}

// IssuerType is the kind of an issuer.
type IssuerType string

// Issuer types.
const (
	ClusterIssuer   IssuerType = "ClusterIssuer"
	NamespaceIssuer IssuerType = "Issuer"
)

// Backend is the backend of a rule.
type Backend struct {
	// ReadTimeout is the longest pause between two reads from the backend, in seconds.
	// +optional
	ReadTimeout int `json:"readTimeout,omitempty"`
	// SendTimeout is the longest pause between two writes to the backend, in seconds.
	// +optional
	SendTimeout int `json:"sendTimeout,omitempty"`
	// BackendService is the Service of the backend.
	// +optional
	BackendService *BackendServiceRef `json:"backendService,omitempty"`
}

// BackendServiceRef is a port of a Service.
type BackendServiceRef struct {
	// Port is the number or name of a port: of the Service, if serviceName is set, or else of the containers.
	// +optional
	Port intstr.IntOrString `json:"port,omitempty"`
	// ServiceName is the name of the Service. If it is empty, the Service is discovered from the workload.
	// +optional
	ServiceName string `json:"serviceName,omitempty"`
}

// RouteStatus is the observed state of a Route.
type RouteStatus struct {
	// Ingresses are the objects that serve the host.
	// +optional
	Ingresses []core.TypedReference `json:"ingresses,omitempty"`
	// Service is the Service of the discovered backends: that of the Route, or that of the workload.
	// +optional
	Service *core.TypedReference `json:"service,omitempty"`
	// Status is Ready, or Synced while the Route waits for something.
	// +optional
	Status                 string `json:"status,omitempty"`
	core.ConditionedStatus `json:",inline"`
}

// Route gives a workload an address: it creates a Service, the objects of an ingress controller, and a certificate.
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories={oam}
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="anymesh.dev/if-exists=keep"
// +kubebuilder:printcolumn:name="HOST",type=string,JSONPath=`.spec.host`
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type Route struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec RouteSpec `json:"spec,omitempty"`
	// +optional
	Status RouteStatus `json:"status,omitempty"`
}

// RouteList is a list of Routes.
// +kubebuilder:object:root=true
type RouteList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Route `json:"items"`
}
