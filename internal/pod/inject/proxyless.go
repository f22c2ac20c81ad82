package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/sidecar"
)

// injectProxyless adds the agent to a pod whose application is its own proxy. The agent starts before the application,
// which finds certificates and configuration at once.
func (w *Webhook) injectProxyless(pod *corev1.Pod, c *sidecar.InjectorContext, o dialect.PodOptions,
	server controlPlane, delay int64) {
	if o.AllInbound || len(o.InboundPorts) > 0 { // the application has clients
		addPreStop(pod, delay)
	}
	for i := range pod.Spec.Containers {
		into := &pod.Spec.Containers[i]
		for _, e := range c.Sidecar.ApplicationEnv {
			if !slices.ContainsFunc(into.Env, func(own corev1.EnvVar) bool { return own.Name == e.Name }) {
				into.Env = append(into.Env, e)
			}
		}
		into.VolumeMounts = append(into.VolumeMounts, corev1.VolumeMount{
			Name: volumeRun, MountPath: sidecar.CertificatesDir, ReadOnly: true,
		})
	}
	pod.Spec.InitContainers = append(pod.Spec.InitContainers, sidecarContainer(c, o, server, "", false))
}

// injectedProxyless reports whether a pod is as injectProxyless makes it: its agent has no proxy, and each application
// has the certificates.
func injectedProxyless(pod *corev1.Pod) bool {
	if !alreadyInjected(pod) || slices.Contains(Agent(pod).Command, "--") {
		return false
	}
	lacks := func(c corev1.Container) bool {
		return !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == volumeRun })
	}
	return !slices.ContainsFunc(pod.Spec.Containers, lacks)
}
