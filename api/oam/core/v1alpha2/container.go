package v1alpha2

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Quantity is an amount of a resource.
type Quantity struct {
	// Required is the amount.
	Required resource.Quantity `json:"required"`
}

// DiskResource is the disk of a volume.
type DiskResource struct {
	// Required is the size of the disk.
	Required resource.Quantity `json:"required"`
	// Ephemeral means that the disk is deleted with the pod.
	// +optional
	Ephemeral *bool `json:"ephemeral,omitempty"`
}

// VolumeResource is a volume of a container.
type VolumeResource struct {
	// Name is the name of the volume.
	Name string `json:"name"`
	// MountPath is the path in the container.
	MountPath string `json:"mountPath"`
	// AccessMode is RO or RW.
	// +optional
	// +kubebuilder:validation:Enum=RO;RW
	AccessMode *string `json:"accessMode,omitempty"`
	// SharingPolicy is Exclusive or Shared.
	// +optional
	// +kubebuilder:validation:Enum=Exclusive;Shared
	SharingPolicy *string `json:"sharingPolicy,omitempty"`
	// Disk is the disk of the volume.
	// +optional
	Disk *DiskResource `json:"disk,omitempty"`
}

// ExtendedResource is an extended resource.
type ExtendedResource struct {
	// Name is the name of the resource.
	Name string `json:"name"`
	// Required is the amount.
	Required intstr.IntOrString `json:"required"`
}

// ContainerResources are the resources of a container.
type ContainerResources struct {
	// CPU is the number of cores.
	CPU Quantity `json:"cpu"`
	// Memory is the memory.
	Memory Quantity `json:"memory"`
	// GPU is the number of GPUs.
	// +optional
	GPU *Quantity `json:"gpu,omitempty"`
	// Volumes are the volumes of the container.
	// +optional
	Volumes []VolumeResource `json:"volumes,omitempty"`
	// Extended are extended resources.
	// +optional
	Extended []ExtendedResource `json:"extended,omitempty"`
}

// SecretKeySelector is a key of a Secret.
type SecretKeySelector struct {
	// Name is the name of the Secret.
	Name string `json:"name"`
	// Key is the key.
	Key string `json:"key"`
}

// ContainerEnvVar is an environment variable: a value or a key of a Secret.
type ContainerEnvVar struct {
	// Name is the name of the variable.
	// +kubebuilder:validation:Pattern=^[-_a-zA-Z0-9]+$
	Name string `json:"name"`
	// Value is its value.
	// +optional
	Value *string `json:"value,omitempty"`
	// FromSecret is the key of a Secret with its value.
	// +optional
	FromSecret *SecretKeySelector `json:"fromSecret,omitempty"`
}

// ContainerConfigFile is a file in a container: a text or a key of a Secret.
type ContainerConfigFile struct {
	// Path is the path of the file.
	Path string `json:"path"`
	// Value is its text.
	// +optional
	Value *string `json:"value,omitempty"`
	// FromSecret is the key of a Secret with its text.
	// +optional
	FromSecret *SecretKeySelector `json:"fromSecret,omitempty"`
}

// ContainerPort is a port of a container.
type ContainerPort struct {
	// Name is the name of the port.
	// +kubebuilder:validation:Pattern=^[a-z]+$
	Name string `json:"name"`
	// Port is the number of the port.
	Port int32 `json:"containerPort"`
	// Protocol is TCP, the default, or UDP.
	// +kubebuilder:validation:Enum=TCP;UDP
	// +optional
	Protocol *string `json:"protocol,omitempty"`
}

// ExecProbe is a command.
type ExecProbe struct {
	// Command is the command with its arguments.
	Command []string `json:"command"`
}

// HTTPHeader is a header of a probe.
type HTTPHeader struct {
	// Name is the name of the header.
	Name string `json:"name"`
	// Value is its value.
	Value string `json:"value"`
}

// HTTPGetProbe is a GET request.
type HTTPGetProbe struct {
	// Path is the path of the request.
	Path string `json:"path"`
	// Port is the port.
	Port int32 `json:"port"`
	// HTTPHeaders are headers of the request.
	// +optional
	HTTPHeaders []HTTPHeader `json:"httpHeaders,omitempty"`
}

// TCPSocketProbe is a connection.
type TCPSocketProbe struct {
	// Port is the port.
	Port int32 `json:"port"`
}

// ContainerHealthProbe is a probe: one of exec, httpGet and tcpSocket.
type ContainerHealthProbe struct {
	// Exec is a command.
	// +optional
	Exec *ExecProbe `json:"exec,omitempty"`
	// HTTPGet is a GET request.
	// +optional
	HTTPGet *HTTPGetProbe `json:"httpGet,omitempty"`
	// TCPSocket is a connection.
	// +optional
	TCPSocket *TCPSocketProbe `json:"tcpSocket,omitempty"`
	// InitialDelaySeconds is the time before the first probe.
	// +optional
	InitialDelaySeconds *int32 `json:"initialDelaySeconds,omitempty"`
	// PeriodSeconds is the time between probes.
	// +optional
	PeriodSeconds *int32 `json:"periodSeconds,omitempty"`
	// TimeoutSeconds is the timeout of a probe.
	// +optional
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
	// SuccessThreshold is the number of successes after which the container is healthy.
	// +optional
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
	// FailureThreshold is the number of failures after which it is not.
	// +optional
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`
}

// Container is a container.
type Container struct {
	// Name is the name of the container.
	Name string `json:"name"`
	// Image is its image.
	Image string `json:"image"`
	// Resources are its resources.
	// +optional
	Resources *ContainerResources `json:"resources,omitempty"`
	// Command is its command.
	// +optional
	Command []string `json:"command,omitempty"`
	// Arguments are the arguments of the command.
	// +optional
	Arguments []string `json:"args,omitempty"`
	// Environment are environment variables.
	// +optional
	Environment []ContainerEnvVar `json:"env,omitempty"`
	// ConfigFiles are files.
	// +optional
	ConfigFiles []ContainerConfigFile `json:"config,omitempty"`
	// Ports are the ports.
	// +optional
	Ports []ContainerPort `json:"ports,omitempty"`
	// LivenessProbe restarts the container when it fails.
	// +optional
	LivenessProbe *ContainerHealthProbe `json:"livenessProbe,omitempty"`
	// ReadinessProbe takes the container out of Services while it fails.
	// +optional
	ReadinessProbe *ContainerHealthProbe `json:"readinessProbe,omitempty"`
	// ImagePullSecret is the name of the Secret for the image.
	// +optional
	ImagePullSecret *string `json:"imagePullSecret,omitempty"`
}
