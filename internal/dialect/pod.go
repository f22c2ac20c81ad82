package dialect

import (
	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/sidecar"
)

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

// PodOptions are the sidecar options in a pod's annotations. Ports are numbers from 1 to 65535.
type PodOptions struct {
	// InboundPorts are the captured ports of inbound connections. OutboundPortExclusions are the ports of outbound
	// connections that are not captured.
	InboundPorts           []int
	OutboundPortExclusions []int
	// OutboundIPExclusions are destination addresses and CIDR ranges that are not captured.
	OutboundIPExclusions []string
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
	// Bypasses say which annotations exclude all connections of an IP family from capture.
	Bypasses []string
	// Warnings are the warnings about annotations that are not supported.
	Warnings []string
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
