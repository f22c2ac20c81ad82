package dialect

import corev1 "k8s.io/api/core/v1"

// InjectionMode is what a pod and its namespace say about injection, in the words of a dialect's API.
type InjectionMode int

const (
	// InjectionUnspecified injects pods that belong to a workload, and leaves others alone.
	InjectionUnspecified InjectionMode = iota
	// InjectionEnabled refuses pods that belong to no workload.
	InjectionEnabled
	// InjectionDisabled leaves the pod alone.
	InjectionDisabled
)

// PodOptions are what a pod's annotations say about its sidecar. Ports are numbers from 1 to 65535.
type PodOptions struct {
	// InboundPorts are captured where connections arrive, OutboundPortExclusions not captured where they are opened.
	InboundPorts           []int
	OutboundPortExclusions []int
	// OutboundIPExclusions are addresses and CIDR ranges to which connections are not captured.
	OutboundIPExclusions []string
	// IPv6 captures IPv6 too.
	IPv6 bool
	// Resources replace those of the sidecar container, one by one.
	Resources corev1.ResourceRequirements
	// Env is added to the sidecar container.
	Env []corev1.EnvVar
	// SecretMounts are Secrets, and VolumeMounts volumes of the pod, to mount into the sidecar container.
	SecretMounts []Mount
	VolumeMounts []Mount
	// Warnings are about annotations that are not honored.
	Warnings []string
}

// Mount is a Secret or volume to mount.
type Mount struct {
	Name, Path string
	// Annotation asks for it; errors name it.
	Annotation string
}

// ReadinessGate is a readiness gate of pods that a dialect's former controller opened, and that the control plane keeps
// open.
type ReadinessGate struct {
	Type corev1.PodConditionType
	// Message is that of the condition.
	Message string
}
