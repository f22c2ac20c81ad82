package inject

import (
	corev1 "k8s.io/api/core/v1"
)

// volumeToken holds the token that the agent exchanges for a certificate.
const volumeToken = "anymesh-token"

// Audience is what the agent's token is good for: our signing endpoint, and nothing else in the cluster.
const Audience = "anymesh"

// addFiles lets the sidecar's files travel as annotations of the pod and appear in a volume: the pod carries all that its sidecar
// needs, and nothing has to be created beside it.
func addFiles(pod *corev1.Pod, files map[string][]byte) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	source := &corev1.DownwardAPIVolumeSource{}
	for _, name := range sortedKeys(files) {
		pod.Annotations[fileAnnotation+name] = string(files[name])
		source.Items = append(source.Items, corev1.DownwardAPIVolumeFile{
			Path:     name,
			FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.annotations['" + fileAnnotation + name + "']"},
		})
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volumeFiles, VolumeSource: corev1.VolumeSource{DownwardAPI: source}})
}

// addVolumes gives the sidecar its token, memory for keys, and the volumes that annotations ask for.
func addVolumes(pod *corev1.Pod, s settings) {
	lifetime := int64(tokenLifetime)
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: volumeRun, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
		}},
		corev1.Volume{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: Audience, ExpirationSeconds: &lifetime, Path: tokenFile,
			}}},
		}}})
	for _, m := range s.secretMounts {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: m.name, VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: m.name},
		}})
	}
}
