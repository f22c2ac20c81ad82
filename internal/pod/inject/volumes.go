package inject

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/dialect"
)

// volumeToken holds the token that the agent exchanges for a certificate.
const volumeToken = "anymesh-token"

// Audience is the audience of the agent's token. The signing endpoint requires it.
const Audience = "anymesh"

// addVolumes adds the volumes of the files and of the keys (in memory), of the token, and those of the annotations.
func addVolumes(pod *corev1.Pod, o dialect.PodOptions) error {
	lifetime := int64(tokenLifetime)
	memory := corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}}
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: volumeFiles, VolumeSource: memory},
		corev1.Volume{Name: volumeRun, VolumeSource: *memory.DeepCopy()},
		corev1.Volume{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: Audience, ExpirationSeconds: &lifetime, Path: tokenFile,
			}}},
		}}})
	for _, m := range o.SecretMounts {
		err := addSecret(pod, m.Name)
		switch {
		case err != nil && m.Annotation == "":
			return fmt.Errorf("secret %q of its workload: %w", m.Name, err)
		case err != nil:
			return fmt.Errorf("annotation %s: %w", m.Annotation, err)
		}
	}
	for _, m := range append(slices.Clone(o.VolumeMounts), o.CheckVolumes...) {
		if volumeOf(pod, m.Name) == nil {
			return fmt.Errorf("annotation %s: the pod has no volume %q", m.Annotation, m.Name)
		}
	}
	addSDSVolume(pod, o.SDSSocket)
	return nil
}

// addSDSVolume adds the volume with the socket of the secret discovery service. A volume of the pod with its name is
// used as it is.
func addSDSVolume(pod *corev1.Pod, socket *dialect.SDSSocket) {
	if socket == nil || socket.Volume == "" || volumeOf(pod, socket.Volume) != nil {
		return
	}
	kind := corev1.HostPathSocket
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: socket.Volume, VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: socket.Path, Type: &kind},
	}})
}

// addSecret adds a secret volume to the pod, unless it exists.
func addSecret(pod *corev1.Pod, secret string) error {
	volume := secretVolume(secret)
	if v := volumeOf(pod, volume); v != nil {
		if v.Secret == nil || v.Secret.SecretName != secret {
			return fmt.Errorf("the pod already has a volume %q, which is not the secret %q; rename that volume",
				volume, secret)
		}
		return nil
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret},
	}})
	return nil
}

// secretVolume returns the volume name of a secret, as in App Mesh. Volume names are shorter than secret names, and
// have no dots.
func secretVolume(secret string) string {
	name := strings.ReplaceAll(secret, ".", "-")
	if len(name) > maxVolumeName {
		name = strings.TrimRight(name[:maxVolumeName], "-")
	}
	return name
}

// maxVolumeName is the limit of Kubernetes, in bytes.
const maxVolumeName = 63

func volumeOf(pod *corev1.Pod, name string) *corev1.Volume {
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		return nil
	}
	return &pod.Spec.Volumes[i]
}
