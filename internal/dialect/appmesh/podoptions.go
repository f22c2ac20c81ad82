package appmesh

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// sshPort is never captured, whatever the annotation says.
const sshPort = 22

// The instance metadata service of the cloud is not captured by default.
var defaultIgnoredIPs = []string{"169.254.169.254"}

// gatewayContainer is the container of a gateway's pod that becomes the proxy, whatever its sidecarClass is.
const gatewayContainer = "envoy"

// PodOptions reads the annotations and the proxy's environment of a pod of a workload. Errors name the annotation or
// the variable.
func (d Dialect) PodOptions(pod *corev1.Pod, w model.Workload) (dialect.PodOptions, error) {
	o := dialect.PodOptions{
		InboundPorts: listenerPorts(w), OutboundIPExclusions: defaultIgnoredIPs, IPv6: true, CNI: usesCNI(pod),
		PortExclusionsBy: prefix + "egressIgnoredPorts",
	}
	if w.Role == model.RoleGateway {
		o.ProxyContainer, o.InboundPorts, o.CNI = gatewayContainer, nil, false
	} else {
		o.Resources = *d.Resources.DeepCopy()
	}
	var variables []corev1.EnvVar
	var xrayConfig []dialect.Mount
	for _, a := range []struct {
		key   string
		parse func(string) error
	}{
		{"virtualGatewaySkipImageOverride", func(v string) error { o.KeepImage = strings.EqualFold(v, "enabled"); return nil }},
		{"ports", setPorts(&o.InboundPorts)},
		{"egressIgnoredPorts", setPorts(&o.OutboundPortExclusions)},
		{"egressIgnoredIPs", func(v string) error { return setPrefixes(&o.OutboundIPExclusions, v) }},
		{"ipv6", func(v string) error { o.IPv6 = !strings.EqualFold(v, "disabled"); return nil }},
		{"cpuRequest", setQuantity(&o.Resources.Requests, corev1.ResourceCPU)},
		{"memoryRequest", setQuantity(&o.Resources.Requests, corev1.ResourceMemory)},
		{"cpuLimit", setQuantity(&o.Resources.Limits, corev1.ResourceCPU)},
		{"memoryLimit", setQuantity(&o.Resources.Limits, corev1.ResourceMemory)},
		{"secretMounts", func(v string) error { return addMounts(&o.SecretMounts, v, prefix+"secretMounts") }},
		{"volumeMounts", func(v string) error { return addMounts(&o.VolumeMounts, v, prefix+"volumeMounts") }},
		{"xrayAgentConfigMount", func(v string) error { return addMounts(&xrayConfig, v, prefix+"xrayAgentConfigMount") }},
		{"sidecarEnv", func(v string) error { return addEnv(&variables, v) }},
		{"sidecarEnvJson", func(v string) error { return addEnvJSON(&variables, v) }},
	} {
		value, ok := pod.Annotations[prefix+a.key]
		if !ok {
			continue
		}
		if err := a.parse(value); err != nil {
			return dialect.PodOptions{}, fmt.Errorf("annotation %s%s: %w", prefix, a.key, err)
		}
	}
	if !slices.Contains(o.OutboundPortExclusions, sshPort) {
		o.OutboundPortExclusions = append(o.OutboundPortExclusions, sshPort)
		o.AlwaysExcluded = []int{sshPort}
	}
	o.SecretMounts = append(o.SecretMounts, acmSecrets(w)...)
	d.addSDS(&o, pod)
	o.Warnings, o.Bypasses = annotationWarnings(pod, o), bypasses(o)
	if err := d.addProxySettings(&o, pod, w, variables); err != nil {
		return dialect.PodOptions{}, err
	}
	if err := d.addXRay(&o, pod, w, xrayConfig); err != nil {
		return dialect.PodOptions{}, err
	}
	if o.CNI {
		o.Annotations = cniAnnotations(o)
		o.Warnings = append(o.Warnings, cniWarning)
	}
	return o, nil
}

// addProxySettings adds the environment of the proxy, and what it means.
func (d Dialect) addProxySettings(o *dialect.PodOptions, pod *corev1.Pod, w model.Workload,
	annotated []corev1.EnvVar) error {
	own := append([]corev1.EnvVar{
		{Name: "APPMESH_RESOURCE_ARN", Value: w.NodeID}, {Name: "APPMESH_VIRTUAL_NODE_NAME", Value: w.NodeID},
		{Name: "APPMESH_PLATFORM_K8S_POD_UID", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.uid"},
		}},
	}, d.env()...)
	if o.SDSSocket != nil && o.SDSSocket.Volume != "" {
		own = append(own, corev1.EnvVar{Name: "APPMESH_SDS_SOCKET_PATH", Value: d.SDS.Path})
	}
	var warnings []string
	o.Env, warnings = environmentOf(own, annotated)
	env := effective(pod, *o)
	o.Warnings = append(append(o.Warnings, warnings...), variableWarnings(env)...)
	var err error
	o.Proxy, err = proxySettings(env, w)
	return err
}

// addXRay adds the daemon of X-Ray if the settings enable it, and the fsGroup that lets it read the credentials of the
// service account, as in App Mesh. With AWS_XRAY_DAEMON_ADDRESS or another tracer, the daemon is not used.
func (d Dialect) addXRay(o *dialect.PodOptions, pod *corev1.Pod, w model.Workload, config []dialect.Mount) error {
	t := o.Proxy.Tracing
	local := t != nil && t.Protocol == sidecar.TracingXRay &&
		findVariable(effective(pod, *o), "AWS_XRAY_DAEMON_ADDRESS") < 0
	if !local || !d.Tracing.Enabled {
		if len(config) > 0 {
			o.Warnings = append(o.Warnings, "annotation "+prefix+"xrayAgentConfigMount has no effect: the pod gets no X-Ray daemon, "+
				"because tracing with provider x-ray is not enabled in the settings, or the pod has another receiver")
		}
		return nil
	}
	var mount *corev1.VolumeMount
	switch len(config) {
	case 0:
	case 1:
		mount = &corev1.VolumeMount{Name: config[0].Name, MountPath: config[0].Path, ReadOnly: true}
		o.CheckVolumes = append(o.CheckVolumes, config[0])
	default:
		return fmt.Errorf("annotation %sxrayAgentConfigMount: only one volume is possible", prefix)
	}
	o.Containers = append(o.Containers, d.xrayDaemon(t, o.Resources, mount))
	if w.Role != model.RoleGateway {
		o.FSGroup = sidecar.UID
	}
	return nil
}

// addSDS adds the socket of the server of the secret discovery service, which an annotation disables.
func (d Dialect) addSDS(o *dialect.PodOptions, pod *corev1.Pod) {
	if !d.SDS.Enabled {
		return
	}
	o.SDSSocket = &dialect.SDSSocket{Path: d.SDS.Path}
	if strings.EqualFold(pod.Annotations[prefix+"sds"], "disabled") {
		return
	}
	o.SDSSocket.Volume = "appmesh-sds-socket-volume"
}
