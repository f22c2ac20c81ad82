package inject

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/sidecar"
)

const (
	// captureContainer has the same name as in App Mesh, so that pods with their own capture container stay unchanged.
	captureContainer = "proxyinit"

	volumeFiles = "anymesh-files"
	volumeRun   = "anymesh-run"
	tokenDir    = "/var/run/secrets/anymesh.dev"
	tokenFile   = "token"
	rootFile    = "root.pem"
	// fileAnnotation is the prefix of pod annotations that contain the sidecar's files.
	fileAnnotation = "anymesh.dev/file."
	tokenLifetime  = 3600
)

// captureInit is the init container that sets the pod's packet rules. It runs last of the regular init containers, so
// that the others use the network without capture.
func captureInit(image string, pull corev1.PullPolicy, o dialect.PodOptions, dns bool) corev1.Container {
	root, no := int64(0), false
	dnsPort := ""
	if dns {
		dnsPort = strconv.Itoa(sidecar.DNSPort)
	}
	return corev1.Container{
		Name:            captureContainer,
		Image:           image,
		ImagePullPolicy: pull,
		Command:         []string{"anymesh", "capture"},
		Env: []corev1.EnvVar{
			{Name: "ANYMESH_CAPTURE_ENABLED", Value: "1"},
			{Name: "ANYMESH_CAPTURE_UID", Value: strconv.Itoa(sidecar.UID)},
			{Name: "ANYMESH_CAPTURE_INBOUND_PORT", Value: strconv.Itoa(sidecar.InboundPort)},
			{Name: "ANYMESH_CAPTURE_OUTBOUND_PORT", Value: strconv.Itoa(sidecar.OutboundPort)},
			{Name: "ANYMESH_CAPTURE_APP_PORTS", Value: joinInts(o.InboundPorts)},
			{Name: "ANYMESH_CAPTURE_EXCLUDED_IPS", Value: strings.Join(o.OutboundIPExclusions, ",")},
			{Name: "ANYMESH_CAPTURE_EXCLUDED_PORTS", Value: joinInts(o.OutboundPortExclusions)},
			{Name: "ANYMESH_CAPTURE_DNS_PORT", Value: dnsPort},
			{Name: "ANYMESH_CAPTURE_IPV6", Value: map[bool]string{true: "1", false: "0"}[o.IPv6]},
		},
		SecurityContext: &corev1.SecurityContext{
			RunAsUser: &root, RunAsGroup: &root, RunAsNonRoot: &no, AllowPrivilegeEscalation: &no,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_ADMIN"}},
		},
	}
}

// sidecarContainer returns the container of the driver as a native sidecar: it starts before the application, which
// waits until it is ready, and stops after the application. Jobs complete.
func sidecarContainer(c *sidecar.InjectorContext, o dialect.PodOptions, signingURL, probes string,
	dns bool) corev1.Container {
	spec := c.Sidecar
	out := spec.Container
	always, uid, yes, no := corev1.ContainerRestartPolicyAlways, int64(sidecar.UID), true, false
	out.RestartPolicy = &always
	out.ImagePullPolicy = c.ContainerPullPolicy
	out.Command = []string{
		"anymesh", "agent",
		"--signing-url", signingURL, "--roots", sidecar.FilesDir + "/" + rootFile, "--token",
		tokenDir + "/" + tokenFile,
		"--cert-dir", sidecar.CertificatesDir, "--listen", ":" + strconv.Itoa(sidecar.AgentPort),
	}
	if dns {
		out.Command = append(out.Command, "--dns-port", strconv.Itoa(sidecar.DNSPort), "--xds-address",
			fmt.Sprintf("anymesh.%s.svc.cluster.local:%d", c.OsmNamespace, c.Configurator.GetProxyServerPort()))
	}
	if spec.ReadyURL != "" {
		out.Command = append(out.Command, "--ready-url", spec.ReadyURL)
	}
	if spec.MetricsURL != "" {
		out.Command = append(out.Command, "--metrics-url", spec.MetricsURL)
	}
	out.Command = append(out.Command, "--")
	out.Command = append(out.Command, spec.Command...)
	out.Ports = append(out.Ports,
		corev1.ContainerPort{Name: "agent", ContainerPort: sidecar.AgentPort, Protocol: corev1.ProtocolTCP})
	if probes != "" {
		out.Env = append(out.Env, corev1.EnvVar{Name: "ANYMESH_PROBES", Value: probes})
	}
	out.Env = append(out.Env, o.Env...)
	for name, quantity := range o.Resources.Requests {
		if out.Resources.Requests == nil {
			out.Resources.Requests = corev1.ResourceList{}
		}
		out.Resources.Requests[name] = quantity
	}
	if o.Resources.Limits != nil {
		out.Resources.Limits = o.Resources.Limits
	}
	out.SecurityContext = &corev1.SecurityContext{
		RunAsUser: &uid, RunAsGroup: &uid, RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem: &yes,
		Capabilities:           &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	ready := func(path string) corev1.ProbeHandler {
		return corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(sidecar.AgentPort)},
		}
	}
	// The agent delays the response until the sidecar is ready, so that the application starts without a probe interval
	// of delay.
	out.StartupProbe = &corev1.Probe{
		ProbeHandler: ready("/ready?wait=4s"), PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 300,
	}
	out.ReadinessProbe = &corev1.Probe{
		ProbeHandler: ready("/ready"), PeriodSeconds: 10, TimeoutSeconds: 5, FailureThreshold: 3,
	}
	if len(spec.Drain) > 0 {
		// The kubelet runs the hook when the pod's termination starts; the sidecar gets SIGTERM after the application
		// has ended.
		out.Lifecycle = &corev1.Lifecycle{
			PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: spec.Drain}},
		}
	}
	out.VolumeMounts = append(out.VolumeMounts,
		corev1.VolumeMount{Name: volumeFiles, MountPath: sidecar.FilesDir, ReadOnly: true},
		corev1.VolumeMount{Name: volumeRun, MountPath: sidecar.CertificatesDir},
		corev1.VolumeMount{Name: volumeToken, MountPath: tokenDir, ReadOnly: true})
	for _, m := range o.SecretMounts {
		out.VolumeMounts = append(out.VolumeMounts,
			corev1.VolumeMount{Name: secretVolume(m.Name), MountPath: m.Path, ReadOnly: true})
	}
	for _, m := range o.VolumeMounts {
		out.VolumeMounts = append(out.VolumeMounts, corev1.VolumeMount{Name: m.Name, MountPath: m.Path})
	}
	if o.SDSSocket != nil && o.SDSSocket.Volume != "" {
		out.VolumeMounts = append(out.VolumeMounts,
			corev1.VolumeMount{Name: o.SDSSocket.Volume, MountPath: o.SDSSocket.Path, ReadOnly: true})
	}
	return out
}

func joinInts(ports []int) string {
	var out []string
	for _, p := range ports {
		out = append(out, strconv.Itoa(p))
	}
	return strings.Join(out, ",")
}
