package inject

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// volumeLogs is the folder of the access log, if no volume of the pod is mounted there.
const volumeLogs = "anymesh-logs"

// addAccessLog adds the file of the access log to a container with the agent: the flags of the agent, and a volume for
// the folder of the file, because the file system of the image is read-only. Without a volume the agent uses another
// file, and so it does if the access log is added after the pod was created.
func addAccessLog(pod *corev1.Pod, c *corev1.Container, spec *sidecar.Spec, log *model.AccessLog) {
	if spec.AccessLog == "" {
		return
	}
	flags := []string{"--access-log", spec.AccessLog}
	if log != nil && log.IsFile() && mountLogs(pod, c, log) {
		flags = append(flags, "--access-log-target", log.Path)
	}
	c.Command = slices.Insert(c.Command, slices.Index(c.Command, "--"), flags...)
}

// Agent returns the container of a pod that runs the agent: its sidecar, or its gateway; nil for a pod without one.
func Agent(pod *corev1.Pod) *corev1.Container {
	for _, all := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range all {
			if hasAgent(&all[i]) {
				return &all[i]
			}
		}
	}
	return nil
}

// mountLogs reports whether the file is in a volume. It adds one if none is mounted.
func mountLogs(pod *corev1.Pod, c *corev1.Container, log *model.AccessLog) bool {
	var deepest *corev1.VolumeMount
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		if within(path.Dir(log.Path), path.Clean(m.MountPath)) &&
			(deepest == nil || len(m.MountPath) > len(deepest.MountPath)) {
			deepest = m
		}
	}
	if deepest != nil {
		return !deepest.ReadOnly
	}
	folder := log.Folder()
	if folder == "" {
		return false
	}
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: volumeLogs, MountPath: folder})
	if volumeOf(pod, volumeLogs) == nil {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: volumeLogs, VolumeSource: corev1.VolumeSource{
			EmptyDir: &corev1.EmptyDirVolumeSource{},
		}})
	}
	return true
}

// within reports whether a path is a folder or below it.
func within(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}
