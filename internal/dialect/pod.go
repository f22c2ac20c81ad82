package dialect

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// Injection is a dialect whose workloads get sidecars by injection.
type Injection interface {
	Dialect
	// InjectionSelector selects the namespaces whose pods are sent to the webhook.
	InjectionSelector() []metav1.LabelSelectorRequirement
	// InjectionMode returns the injection mode for a pod and its namespace, which must not be modified.
	InjectionMode(pod *corev1.Pod, namespace *corev1.Namespace) InjectionMode
	// WorkloadReads returns an empty object of each kind that SelectWorkload reads. Of namespaced kinds, it reads the
	// objects in the namespace of the pod; of Namespaces, only this one.
	WorkloadReads() []client.Object
	// SelectWorkload returns the workload of a new pod, selected from objects of those kinds. It reports false if
	// there is none. An error denies the pod, a *LeavingError only if injection is required.
	SelectWorkload(objects []client.Object, pod *corev1.Pod, namespace string) (model.Key, bool, error)
	// NoWorkload returns the denial of a pod with injection enabled that no workload selects.
	NoWorkload(pod *corev1.Pod) error
	// PodOptions reads the sidecar options from the annotations of a pod. Errors name the annotation.
	PodOptions(pod *corev1.Pod, w model.Workload) (PodOptions, error)
	// InjectionHint tells how to enable injection for a namespace, as a part of a sentence.
	InjectionHint() string
}

// PodWorkloads is a dialect whose workloads exist only while they have pods with a proxy.
type PodWorkloads interface {
	// NewWorkload returns the workload of a pod that is the first one with the key that SelectWorkload returned for it and
	// for these objects.
	NewWorkload(objects []client.Object, pod *corev1.Pod, key model.Key) model.Workload
}

// InjectionReasons is a dialect that says which setting keeps injection from a pod.
type InjectionReasons interface {
	// WhyDisabled returns why the mode of a pod and its namespace is InjectionDisabled.
	WhyDisabled(pod *corev1.Pod, namespace *corev1.Namespace) string
}

// InjectionMode is the injection setting of a pod and its namespace.
type InjectionMode int

const (
	// InjectionUnspecified injects the pods of workloads, and does not change other pods.
	InjectionUnspecified InjectionMode = iota
	// InjectionEnabled injects the pods of workloads, and denies other pods.
	InjectionEnabled
	// InjectionDisabled does not change the pod.
	InjectionDisabled
)

// NoSidecar returns why injection adds no sidecar to a pod that a workload of a dialect selects, in a namespace with
// injection; empty if it adds one.
func NoSidecar(d Injection, pod *corev1.Pod, namespace *corev1.Namespace) string {
	switch {
	case d.InjectionMode(pod, namespace) == InjectionDisabled:
		if r, has := d.(InjectionReasons); has {
			return r.WhyDisabled(pod, namespace)
		}
		return fmt.Sprintf("an annotation of the pod, or a label of namespace %s, turns injection off", namespace.Name)
	case pod.Spec.HostNetwork:
		return "spec.hostNetwork is true, and all pods of a node would share the sidecar"
	}
	return ""
}

// NotInjected returns why injection adds no sidecar to a pod that a workload of a dialect selects; empty if it adds
// one.
func NotInjected(d Injection, pod *corev1.Pod, ns *corev1.Namespace) string {
	selector := &metav1.LabelSelector{MatchExpressions: d.InjectionSelector()}
	compiled, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil || !compiled.Matches(labels.Set(ns.Labels)) {
		for _, r := range selector.MatchExpressions {
			if value, is := ns.Annotations[r.Key]; is {
				return fmt.Sprintf("%s: %s is an annotation of namespace %s, and has to be a label", r.Key, value, ns.Name)
			}
		}
		return fmt.Sprintf("injection is not enabled in namespace %s; %s", ns.Name, d.InjectionHint())
	}
	return NoSidecar(d, pod, ns)
}

// WithoutSidecar returns why injection adds no sidecar to a pod of a workload; empty if it adds one, or if no dialect
// with injection selects the pod for the workload.
func WithoutSidecar(objects []client.Object, pod *corev1.Pod, ns *corev1.Namespace, workload model.Key) string {
	why := ""
	for _, d := range Implementing[Injection](All()) {
		if _, own := d.(PodWorkloads); own {
			continue
		}
		if key, is, err := d.SelectWorkload(objects, pod, pod.Namespace); err == nil && is && key == workload {
			why = NotInjected(d, pod, ns)
		}
	}
	return why
}

// PodOptions are the sidecar options in a pod's annotations. Ports are numbers from 1 to 65535.
type PodOptions struct {
	// InboundPorts are the captured ports of inbound connections. If AllInbound is set, all ports are captured except for
	// InboundPortExclusions and the port of the agent. OutboundPortExclusions are the ports of outbound connections that
	// are not captured.
	InboundPorts           []int
	AllInbound             bool
	InboundPortExclusions  []int
	OutboundPortExclusions []int
	// PortExclusionsBy is the annotation of the pod with OutboundPortExclusions, but for AlwaysExcluded: those that all
	// pods of the dialect have.
	PortExclusionsBy string
	AlwaysExcluded   []int
	// OutboundIPExclusions are destination addresses and CIDR ranges that are not captured.
	OutboundIPExclusions []string
	// OutboundIPInclusions are the only destinations that are captured, but for the exclusions; empty means all.
	OutboundIPInclusions []string
	// AppOnPodIP makes the proxy connect to the application at the addresses of the pod, in place of loopback addresses.
	AppOnPodIP bool
	// IPv6 enables capture of IPv6.
	IPv6 bool
	// Resources override the resources of the sidecar container by name.
	Resources corev1.ResourceRequirements
	// Env is added to the sidecar container.
	Env []corev1.EnvVar
	// SecretMounts are Secrets, and VolumeMounts volumes of the pod, to mount into the sidecar container.
	SecretMounts []Mount
	VolumeMounts []Mount
	// SDSSocket is the server of the secret discovery service of the node; nil if there is none.
	SDSSocket *SDSSocket
	// ProxyContainer is the container of a gateway's pod that becomes the proxy, with its image unless KeepImage is set.
	ProxyContainer string
	KeepImage      bool
	// Proxy has the settings of the proxy.
	Proxy sidecar.ProxySettings
	// Containers are further sidecars, which start before the proxy. One whose name is taken is omitted.
	Containers []corev1.Container
	// CheckVolumes are mounts of Containers, whose volumes the pod must have.
	CheckVolumes []Mount
	// FSGroup is the fsGroup of a pod without one; 0 means none.
	FSGroup int64
	// CNI means that a CNI plugin sets the packet rules of the pod, by its annotations. Annotations are set for it.
	CNI         bool
	Annotations map[string]string
	// Settings is the object that the options of AddPodOptions are from; empty for none.
	Settings model.Origin
	// Bypasses say which annotations exclude all connections of an IP family from capture.
	Bypasses []string
	// Warnings are the warnings about annotations that are not supported.
	Warnings []string
}

// Captures reports whether inbound connections to a port are captured.
func (o *PodOptions) Captures(port int) bool {
	if o.AllInbound {
		return port != sidecar.AgentPort && !slices.Contains(o.InboundPortExclusions, port)
	}
	return slices.Contains(o.InboundPorts, port)
}

// Mount is a Secret or volume to mount.
type Mount struct {
	Name, Path string
	// Annotation is the annotation with the mount, for errors. It is empty for a Secret that the workload needs.
	Annotation string
}

// SDSSocket is the Unix domain socket of a server of the secret discovery service.
type SDSSocket struct {
	// Path is the path of the socket, on the node and in the sidecar.
	Path string
	// Volume is the name of the volume with the socket. If it is empty, the socket is not mounted, and the sidecar gets
	// no secrets. A volume of the pod with this name is used as it is.
	Volume string
}

// ReadinessGates is a dialect whose former controller managed readiness gates of pods.
type ReadinessGates interface {
	ReadinessGates() []ReadinessGate
}

// ReadinessGate is a readiness gate that the former controller of a dialect managed. The control plane keeps its
// condition True.
type ReadinessGate struct {
	Type corev1.PodConditionType
	// Message is the message of the condition.
	Message string
}

// LeavingError means that the only object that selects a pod is being deleted. It denies pods with injection enabled.
type LeavingError struct {
	// Text names the object, the pod and what to do.
	Text string
}

func (e *LeavingError) Error() string { return e.Text }

// PreferredFeatures is a dialect whose pods get a driver with these features if the mesh has one, and neither they nor
// their namespace name another one.
type PreferredFeatures interface{ PreferredFeatures() []model.Feature }

// SidecarSettings is a dialect with objects that set defaults of its pods. A change acts on pods that are created, and
// certificates that are issued, later. The log level is that of model.Mesh, too, which acts on running sidecars.
type SidecarSettings interface {
	Injection
	// SettingsReads returns an empty object of each kind that the other methods read, in all namespaces.
	SettingsReads() []client.Object
	// SidecarSettings returns the settings of the mesh with those of objects. It does not change mesh.
	SidecarSettings(objects []client.Object, mesh *sidecar.MeshConfig) *sidecar.MeshConfig
	// AddPodOptions adds the options of objects and of the annotations of the pod's namespace to those that a pod has.
	AddPodOptions(objects []client.Object, namespace map[string]string, o *PodOptions) error
	// CertificateLifetime returns the lifetime of the certificates of pods in a namespace; 0 if the objects do not say.
	CertificateLifetime(objects []client.Object, namespace *corev1.Namespace) time.Duration
}
