package osm

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// modePodIP is the mode of applications that listen on the address of the pod.
const modePodIP = "PodIP"

// SettingsReads returns an empty MeshConfig.
func (Dialect) SettingsReads() []client.Object { return []client.Object{&config.MeshConfig{}} }

// specOf returns what the MeshConfig with effect sets, among objects.
func specOf(objects []client.Object) meshSpec {
	o, last := inForce(objects)
	if o == nil {
		return meshSpec{}
	}
	out, _ := readMeshConfig(o, last, model.Origin{})
	return out
}

// inForce returns the MeshConfig with effect among objects, and the one with the last valid values. Each may be nil.
func inForce(objects []client.Object) (o, last *config.MeshConfig) {
	o, last = oldestNamed(objects, meshConfigName), oldestNamed(objects, keptName)
	if o == nil {
		o = last
	}
	return o, last
}

// SidecarSettings returns the settings of the mesh with those of MeshConfig.
func (d Dialect) SidecarSettings(objects []client.Object, mesh *sidecar.MeshConfig) *sidecar.MeshConfig {
	m, out := specOf(objects), *mesh
	s := &out.Sidecar
	s.SidecarDrivers = slices.Clone(s.SidecarDrivers)
	named := sidecar.DriverSettings{SidecarName: strings.TrimSuffix(namedImage, "Image"), SidecarImage: m.namedImage}
	for _, by := range append([]sidecar.DriverSettings{named}, m.drivers...) {
		for i := range s.SidecarDrivers {
			if own := &s.SidecarDrivers[i]; strings.EqualFold(own.SidecarName, by.SidecarName) {
				own.SidecarImage = cmp.Or(by.SidecarImage, own.SidecarImage)
				own.InitContainerImage = cmp.Or(by.InitContainerImage, own.InitContainerImage)
			}
		}
	}
	served := func(class string) bool { return strings.EqualFold(class, m.class) }
	if i := slices.IndexFunc(mesh.Classes(), served); i >= 0 && d.checkClass(m.class) == nil &&
		!strings.EqualFold(m.class, mesh.GetSidecarClass()) {
		s.SidecarClass, s.SidecarImage = mesh.Classes()[i], "" // that image is of another driver
	}
	if m.image != "" && (m.class == "" || strings.EqualFold(m.class, s.SidecarClass)) {
		s.SidecarImage = m.image
	}
	s.InitContainerImage = cmp.Or(m.initImage, s.InitContainerImage)
	s.LogLevel = cmp.Or(m.logLevel, s.LogLevel)
	s.EnablePrivilegedInitContainer = s.EnablePrivilegedInitContainer || m.privilegedInit
	return &out
}

// AddPodOptions adds the options of the annotations of the namespace, and of MeshConfig, to those of a pod. Resources
// and tracing of the pod take precedence, then those of the namespace.
func (Dialect) AddPodOptions(objects []client.Object, namespace map[string]string, o *dialect.PodOptions) error {
	m := specOf(objects)
	if by, _ := inForce(objects); by != nil {
		o.Settings = meshConfigOrigin(by)
	}
	o.InboundPortExclusions = joined(o.InboundPortExclusions, m.inboundPorts)
	o.OutboundPortExclusions = joined(o.OutboundPortExclusions, m.outboundPorts)
	o.OutboundIPExclusions = joined(o.OutboundIPExclusions, m.outboundExclusions)
	o.OutboundIPInclusions = joined(o.OutboundIPInclusions, m.outboundInclusions)
	o.AppOnPodIP = m.localProxyMode == modePodIP
	if o.Proxy.Tracing == nil {
		o.Proxy.Tracing = m.tracing
	}
	of, warnings, err := sidecarResources(namespace)
	o.Warnings = append(o.Warnings, warnings...)
	o.Resources.Requests = withDefaults(withDefaults(o.Resources.Requests, of.Requests), m.resources.Requests)
	o.Resources.Limits = withDefaults(withDefaults(o.Resources.Limits, of.Limits), m.resources.Limits)
	if err != nil {
		return fmt.Errorf("its namespace: %w", err)
	}
	return nil
}

// CertificateLifetime returns the lifetime of the certificates of members.
func (d Dialect) CertificateLifetime(objects []client.Object, namespace *corev1.Namespace) time.Duration {
	if _, is := d.meshOf(namespace); !is {
		return 0
	}
	return specOf(objects).certificates
}

// joined returns the entries of both lists, once each, in order.
func joined[T cmp.Ordered](a, b []T) []T {
	out := slices.Sorted(slices.Values(slices.Concat(a, b)))
	return slices.Compact(out)
}

func withDefaults(own, defaults corev1.ResourceList) corev1.ResourceList {
	if len(defaults) == 0 {
		return own
	}
	out := defaults.DeepCopy()
	for name, quantity := range own {
		out[name] = quantity
	}
	return out
}
