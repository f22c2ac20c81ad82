package inject

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/connlimit"
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

	tokenLifetime = 3600
)

// captureInit is the init container that sets the pod's packet rules. It runs last of the regular init containers, so
// that the others use the network without capture.
func captureInit(c sidecar.Configurator, pull corev1.PullPolicy, o dialect.PodOptions, dns bool) corev1.Container {
	root, no := int64(0), false
	security := &corev1.SecurityContext{
		RunAsUser: &root, RunAsGroup: &root, RunAsNonRoot: &no, AllowPrivilegeEscalation: &no,
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"NET_ADMIN"}},
	}
	if yes := true; c.IsPrivilegedInitContainer() {
		// Kubernetes refuses privileged containers without privilege escalation.
		security.AllowPrivilegeEscalation, security.Privileged = &yes, &yes
	}
	dnsPort, appPorts := "", joinInts(o.InboundPorts)
	var optional []corev1.EnvVar
	if o.AllInbound {
		appPorts = "*"
		optional = []corev1.EnvVar{{
			Name:  "ANYMESH_CAPTURE_OPEN_PORTS",
			Value: joinInts(append([]int{sidecar.AgentPort}, o.InboundPortExclusions...)),
		}}
	}
	if len(o.OutboundIPInclusions) > 0 {
		optional = append(optional, corev1.EnvVar{
			Name: "ANYMESH_CAPTURE_INCLUDED_IPS", Value: strings.Join(o.OutboundIPInclusions, ","),
		})
	}
	if dns {
		dnsPort = strconv.Itoa(sidecar.DNSPort)
	}
	return corev1.Container{
		Name:            captureContainer,
		Image:           c.GetInitContainerImage(),
		ImagePullPolicy: pull,
		Command:         []string{"anymesh", "capture"},
		Env: append([]corev1.EnvVar{
			{Name: "ANYMESH_CAPTURE_ENABLED", Value: "1"},
			{Name: "ANYMESH_CAPTURE_UID", Value: strconv.Itoa(sidecar.UID)},
			{Name: "ANYMESH_CAPTURE_INBOUND_PORT", Value: strconv.Itoa(sidecar.InboundPort)},
			{Name: "ANYMESH_CAPTURE_OUTBOUND_PORT", Value: strconv.Itoa(sidecar.OutboundPort)},
			{Name: "ANYMESH_CAPTURE_APP_PORTS", Value: appPorts},
			{Name: "ANYMESH_CAPTURE_EXCLUDED_IPS", Value: strings.Join(o.OutboundIPExclusions, ",")},
			{Name: "ANYMESH_CAPTURE_EXCLUDED_PORTS", Value: joinInts(o.OutboundPortExclusions)},
			{Name: "ANYMESH_CAPTURE_DNS_PORT", Value: dnsPort},
			{Name: "ANYMESH_CAPTURE_IPV6", Value: map[bool]string{true: "1", false: "0"}[o.IPv6]},
		}, optional...),
		SecurityContext: security,
	}
}

// Environment variables of the capture container.
const (
	captureAppIPs     = "ANYMESH_CAPTURE_APP_IPS"
	captureProxyPorts = "ANYMESH_CAPTURE_PROXY_PORTS"
)

// applicationOnPodIP makes the proxy connect to the application at the addresses of the pod, and to its own ports on
// loopback addresses.
func applicationOnPodIP(proxy corev1.Container) []corev1.EnvVar {
	var own []int
	for _, p := range proxy.Ports {
		own = append(own, int(p.ContainerPort))
	}
	return []corev1.EnvVar{
		{Name: captureAppIPs, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.podIPs"},
		}},
		{Name: captureProxyPorts, Value: joinInts(append(own, sidecar.DNSPort))},
	}
}

// sidecarContainer returns the container of the driver as a native sidecar: it starts before the application, which
// waits until it is ready, and stops after the application. Jobs complete. With dns, the agent has a DNS server.
func sidecarContainer(c *sidecar.InjectorContext, o dialect.PodOptions, server controlPlane, probes string,
	dns bool) corev1.Container {
	spec := c.Sidecar
	out := spec.Container
	always := corev1.ContainerRestartPolicyAlways
	out.RestartPolicy = &always
	out.ImagePullPolicy = c.ContainerPullPolicy
	out.Command = agentArguments(c, server)
	if dns {
		out.Command = append(out.Command, "--dns-port", strconv.Itoa(sidecar.DNSPort))
	}
	if !spec.Proxyless() {
		out.Command = append(out.Command, "--")
		out.Command = append(out.Command, spec.Command...)
	}
	out.Ports = append(out.Ports, agentPort())
	if probes != "" {
		out.Env = append(out.Env, corev1.EnvVar{Name: "ANYMESH_PROBES", Value: probes})
	}
	out.Env = append(out.Env, nodeIPs())
	out.Env = append(out.Env, o.Env...)
	overrideResources(&out.Resources, o.Resources)
	out.SecurityContext = proxySecurity()
	// The agent delays the response until the sidecar is ready, so that the application starts without a probe interval
	// of delay.
	out.StartupProbe = &corev1.Probe{
		ProbeHandler: agentProbe("/ready?wait=4s"), PeriodSeconds: 1, TimeoutSeconds: 5, FailureThreshold: 300,
	}
	out.ReadinessProbe, out.LivenessProbe = readinessProbe(), livenessProbe()
	if len(spec.Drain) > 0 {
		// The sidecar gets SIGTERM after the application has ended.
		out.Lifecycle = drainHook(spec)
	}
	out.VolumeMounts = append(out.VolumeMounts, agentMounts(o)...)
	return out
}

// nodeIPs is the variable with the addresses of the node, whose probes the agent serves before anybody else.
func nodeIPs() corev1.EnvVar {
	return corev1.EnvVar{Name: connlimit.NodeIPsVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "status.hostIPs"},
	}}
}

// addContainers adds further sidecars as native ones, so that they start before the proxy and Jobs complete.
func addContainers(pod *corev1.Pod, o dialect.PodOptions, pull corev1.PullPolicy) {
	for _, c := range o.Containers {
		if hasContainer(pod, c.Name) {
			continue
		}
		always := corev1.ContainerRestartPolicyAlways
		c.RestartPolicy, c.ImagePullPolicy = &always, pull
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	if s := pod.Spec.SecurityContext; o.FSGroup != 0 && (s == nil || s.FSGroup == nil) {
		if s == nil {
			pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
		}
		pod.Spec.SecurityContext.FSGroup = &o.FSGroup
	}
}

// agentCommand runs the agent, which runs the proxy.
var agentCommand = []string{"anymesh", "agent"}

// controlPlane is where an agent connects to.
type controlPlane struct{ signingURL, xdsAddress string }

func agentArguments(c *sidecar.InjectorContext, server controlPlane) []string {
	spec := c.Sidecar
	out := append(slices.Clone(agentCommand),
		"--signing-url", server.signingURL, "--xds-address", server.xdsAddress, "--files-dir", sidecar.FilesDir,
		"--roots", sidecar.FilesDir+"/"+rootFile, "--token", tokenDir+"/"+tokenFile,
		"--cert-dir", sidecar.CertificatesDir, "--listen", ":"+strconv.Itoa(sidecar.AgentPort))
	if spec.ReadyURL != "" {
		out = append(out, "--ready-url", spec.ReadyURL)
	}
	if spec.HealthURL != "" {
		out = append(out, "--health-url", spec.HealthURL)
	}
	if spec.MetricsURL != "" {
		out = append(out, "--metrics-url", spec.MetricsURL)
	}
	if c.SDSSocketPath == sidecar.KubernetesSecretsSocket {
		out = append(out, "--secrets-socket", c.SDSSocketPath)
	}
	if spec.RelaySocket != "" {
		out = append(out, "--relay-socket", spec.RelaySocket, "--relay-address", spec.RelayAddress)
	}
	if spec.LogLevelSocket != "" && c.Proxy.LogLevel == "" {
		out = append(out, "--log-level-socket", spec.LogLevelSocket)
	}
	if spec.ConfigArgument != "" && len(c.Proxy.ConfigFiles) > 0 {
		out = append(out, "--config-argument", spec.ConfigArgument)
		for _, file := range c.Proxy.ConfigFiles {
			out = append(out, "--config-file", file)
		}
	}
	return out
}

// proxySecurity is the least privilege of the agent and the proxy.
func proxySecurity() *corev1.SecurityContext {
	uid, yes, no := int64(sidecar.UID), true, false
	return &corev1.SecurityContext{
		RunAsUser: &uid, RunAsGroup: &uid, RunAsNonRoot: &yes, AllowPrivilegeEscalation: &no,
		ReadOnlyRootFilesystem: &yes,
		Capabilities:           &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// overrideResources sets the requests of the annotations, and replaces all limits if there are any.
func overrideResources(into *corev1.ResourceRequirements, by corev1.ResourceRequirements) {
	for name, quantity := range by.Requests {
		if into.Requests == nil {
			into.Requests = corev1.ResourceList{}
		}
		into.Requests[name] = quantity
	}
	if by.Limits != nil {
		into.Limits = by.Limits
	}
}

// agentMounts are the files, keys and token of the agent, and the mounts of the annotations.
func agentMounts(o dialect.PodOptions) []corev1.VolumeMount {
	out := []corev1.VolumeMount{
		{Name: volumeFiles, MountPath: sidecar.FilesDir},
		{Name: volumeRun, MountPath: sidecar.CertificatesDir},
		{Name: volumeToken, MountPath: tokenDir, ReadOnly: true},
	}
	for _, m := range o.SecretMounts {
		out = append(out, corev1.VolumeMount{Name: secretVolume(m.Name), MountPath: m.Path, ReadOnly: true})
	}
	for _, m := range o.VolumeMounts {
		out = append(out, corev1.VolumeMount{Name: m.Name, MountPath: m.Path})
	}
	if o.SDSSocket != nil && o.SDSSocket.Volume != "" {
		out = append(out,
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
