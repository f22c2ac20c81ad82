package oam

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "anymesh.dev/anymesh/api/oam/core/v1alpha2"
	"anymesh.dev/anymesh/internal/trait/controller"
	"anymesh.dev/anymesh/internal/trait/discovery"
	"anymesh.dev/anymesh/internal/trait/provider"
)

// ContainerizedWorkloads plans the objects of ContainerizedWorkloads. It implements controller.Planner.
type ContainerizedWorkloads struct{}

// Kind implements controller.Planner.
func (ContainerizedWorkloads) Kind() schema.GroupVersionKind {
	return core.GroupVersion.WithKind("ContainerizedWorkload")
}

// Reads implements controller.Planner.
func (ContainerizedWorkloads) Reads() []schema.GroupVersionKind { return kindsOfWorkloads() }

// containerizedLabel on pods is the UID of their ContainerizedWorkload.
const containerizedLabel = "containerizedworkload.oam.crossplane.io"

// architectures are the names of Kubernetes for those of OAM that differ.
var architectures = map[string]string{"i386": "386"}

// containerized is the translation of a ContainerizedWorkload.
type containerized struct {
	core.ContainerizedWorkload
	result
	pod corev1.PodSpec
}

// Plan implements controller.Planner.
func (ContainerizedWorkloads) Plan(owner *unstructured.Unstructured, _ discovery.Reader) controller.Plan {
	w := &containerized{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(owner.Object, &w.ContainerizedWorkload); err != nil {
		return result{failure: unreadable(err)}.plan()
	}
	w.pod.NodeSelector = map[string]string{}
	if w.Spec.OperatingSystem != nil {
		w.pod.NodeSelector[corev1.LabelOSStable] = *w.Spec.OperatingSystem
	}
	if w.Spec.CPUArchitecture != nil {
		arch := *w.Spec.CPUArchitecture
		w.pod.NodeSelector[corev1.LabelArchStable] = cmp.Or(architectures[arch], arch)
	}
	for i, c := range w.Spec.Containers {
		w.add(c, fmt.Sprintf("spec.containers[%d]", i))
	}
	selector := map[string]string{containerizedLabel: string(w.UID)}
	w.objects = append(w.objects, deployment(w, selector, nil, w.pod))
	if len(w.pod.Containers) > 0 && len(w.pod.Containers[0].Ports) > 0 {
		p := w.pod.Containers[0].Ports[0] // as in OAM, the first port of the first container
		w.objects = append(w.objects, service(w, selector, []corev1.ServicePort{{
			Name: p.Name, Port: p.ContainerPort, TargetPort: intstr.FromInt32(p.ContainerPort), Protocol: p.Protocol,
		}}))
	}
	return w.plan()
}

// add adds a container.
func (w *containerized) add(c core.Container, field string) {
	out := corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Arguments}
	if c.ImagePullSecret != nil {
		w.pod.ImagePullSecrets = append(w.pod.ImagePullSecrets, corev1.LocalObjectReference{Name: *c.ImagePullSecret})
	}
	for _, p := range c.Ports {
		protocol := corev1.ProtocolTCP
		if p.Protocol != nil {
			protocol = corev1.Protocol(*p.Protocol)
		}
		out.Ports = append(out.Ports, corev1.ContainerPort{Name: p.Name, ContainerPort: p.Port, Protocol: protocol})
	}
	for _, e := range c.Environment {
		v := corev1.EnvVar{Name: e.Name}
		switch {
		case e.FromSecret != nil:
			v.ValueFrom = &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: e.FromSecret.Name}, Key: e.FromSecret.Key,
			}}
		case e.Value != nil:
			v.Value = *e.Value
		}
		out.Env = append(out.Env, v)
	}
	for i, file := range c.ConfigFiles {
		w.addFile(&out, file, fmt.Sprintf("%s.config[%d]", field, i))
	}
	if c.Resources != nil {
		w.addResources(&out, *c.Resources, field+".resources")
	}
	out.LivenessProbe, out.ReadinessProbe = probe(c.LivenessProbe), probe(c.ReadinessProbe)
	w.pod.Containers = append(w.pod.Containers, out)
}

// addFile mounts a file from a ConfigMap of its own, or from a Secret.
func (w *containerized) addFile(c *corev1.Container, file core.ContainerConfigFile, field string) {
	text := ""
	if file.Value != nil {
		text = *file.Value
	}
	// A changed text is another ConfigMap, so that the Deployment replaces the pods.
	sum := sha256.Sum256([]byte(c.Name + "\x00" + file.Path + "\x00" + text))
	volume := corev1.Volume{Name: "config-" + hex.EncodeToString(sum[:5])}
	key := path.Base(file.Path)
	switch {
	case file.FromSecret != nil:
		key = file.FromSecret.Key
		volume.Secret = &corev1.SecretVolumeSource{SecretName: file.FromSecret.Name}
	case file.Value != nil:
		config := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name + "-" + volume.Name, Labels: w.Labels},
			Data:       map[string]string{key: text},
		}
		config.SetGroupVersionKind(configMapKind)
		w.objects = append(w.objects, config)
		volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: config.Name}}
	default:
		w.failure = &provider.Reason{Reason: "InvalidWorkload", Message: field + ": set value or fromSecret"}
		return
	}
	w.pod.Volumes = append(w.pod.Volumes, volume)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volume.Name, MountPath: file.Path, SubPath: key, ReadOnly: true})
}

// addResources adds requests and volumes.
func (w *containerized) addResources(c *corev1.Container, r core.ContainerResources, field string) {
	c.Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU: r.CPU.Required, corev1.ResourceMemory: r.Memory.Required,
	}
	if r.GPU != nil && !r.GPU.Required.IsZero() {
		w.unsupported = append(w.unsupported, provider.Unsupported{
			Field: field + ".gpu", Text: "no GPU is requested: Kubernetes has a resource for each vendor; use a Deployment",
		})
	}
	if len(r.Extended) > 0 {
		w.unsupported = append(w.unsupported, provider.Unsupported{
			Field: field + ".extended", Text: "no extended resource is requested; use a Deployment",
		})
	}
	for i, v := range r.Volumes {
		empty := &corev1.EmptyDirVolumeSource{}
		if v.Disk != nil {
			if v.Disk.Ephemeral != nil && !*v.Disk.Ephemeral {
				w.failure = &provider.Reason{Reason: "NotSupported", Message: fmt.Sprintf("%s.volumes[%d].disk: disks that outlive the "+
					"pod are not implemented; set ephemeral: true, or use a StatefulSet", field, i)}
				return
			}
			empty.SizeLimit = &v.Disk.Required
		}
		name := c.Name + "-" + v.Name // volumes are those of their container
		w.pod.Volumes = append(w.pod.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: empty}})
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: name, MountPath: v.MountPath, ReadOnly: v.AccessMode != nil && *v.AccessMode == "RO",
		})
		if v.SharingPolicy != nil && *v.SharingPolicy == "Shared" {
			w.unsupported = append(w.unsupported, provider.Unsupported{
				Field: fmt.Sprintf("%s.volumes[%d].sharingPolicy", field, i), Text: "the volume is not shared with other containers",
			})
		}
	}
}

func probe(p *core.ContainerHealthProbe) *corev1.Probe {
	if p == nil {
		return nil
	}
	out := &corev1.Probe{}
	switch {
	case p.Exec != nil:
		out.Exec = &corev1.ExecAction{Command: p.Exec.Command}
	case p.HTTPGet != nil:
		out.HTTPGet = &corev1.HTTPGetAction{Path: p.HTTPGet.Path, Port: intstr.FromInt32(p.HTTPGet.Port)}
		for _, h := range p.HTTPGet.HTTPHeaders {
			out.HTTPGet.HTTPHeaders = append(out.HTTPGet.HTTPHeaders, corev1.HTTPHeader{Name: h.Name, Value: h.Value})
		}
	case p.TCPSocket != nil:
		out.TCPSocket = &corev1.TCPSocketAction{Port: intstr.FromInt32(p.TCPSocket.Port)}
	}
	for from, to := range map[*int32]*int32{
		p.InitialDelaySeconds: &out.InitialDelaySeconds, p.PeriodSeconds: &out.PeriodSeconds,
		p.TimeoutSeconds:   &out.TimeoutSeconds,
		p.SuccessThreshold: &out.SuccessThreshold, p.FailureThreshold: &out.FailureThreshold,
	} {
		if from != nil {
			*to = *from
		}
	}
	return out
}
