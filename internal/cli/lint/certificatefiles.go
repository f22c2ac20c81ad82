package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"anymesh.dev/anymesh/internal/cli/manifest"
	"anymesh.dev/anymesh/internal/dialect"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// filesOfPod are the folders that the proxy of a pod has, besides those of its image.
type filesOfPod struct {
	pod     *corev1.Pod
	folders []string
}

// missingFiles returns findings about listeners whose certificate is in a file that no pod of the workload mounts into
// its proxy. It says nothing about workloads without pods in the files, nor about trust: images have authorities.
func missingFiles(dialects []dialect.Dialect, s *engine.State, objects []client.Object) []model.Finding {
	pods := proxyFiles(dialects, s, objects)
	var out []model.Finding
	for _, w := range s.Index.Model.Workloads {
		all := pods[w.Key]
		if len(all) == 0 {
			continue
		}
		for _, l := range w.Listeners {
			if l.TLS == nil || l.TLS.Certificate == nil {
				continue
			}
			for _, file := range []string{l.TLS.Certificate.ChainFile, l.TLS.Certificate.KeyFile} {
				if file == "" || slices.ContainsFunc(all, func(of filesOfPod) bool { return of.has(file) }) {
					continue
				}
				f := model.NewFinding(l.TLS.Origin, model.CodeNoCertificate, fmt.Sprintf(
					"the proxy of no pod mounts %s, as of %s; unless another webhook adds it, the listener accepts no TLS "+
						"connections; see \"Files\" of docs/tls.md", file, manifest.WorkloadOf(all[0].pod)))
				f.Severity = model.Warning
				out = append(out, f)
				break // the key is usually in the same folder
			}
		}
	}
	return out
}

// has reports whether the proxy has a file.
func (of filesOfPod) has(file string) bool {
	return slices.ContainsFunc(of.folders, func(folder string) bool {
		return strings.HasPrefix(file, strings.TrimSuffix(path.Clean(folder), "/")+"/")
	})
}

// proxyFiles returns the pods that get a proxy with the image of the mesh, by workload.
func proxyFiles(dialects []dialect.Dialect, s *engine.State, objects []client.Object) map[model.Key][]filesOfPod {
	namespaces := map[string]*corev1.Namespace{}
	for _, ns := range dialect.ObjectsOf[*corev1.Namespace](objects) {
		namespaces[ns.Name] = ns
	}
	out := map[model.Key][]filesOfPod{}
	for _, pod := range dialect.ObjectsOf[*corev1.Pod](objects) {
		w, member := s.WorkloadOf(string(pod.UID))
		for _, d := range dialect.Implementing[dialect.Injection](dialects) {
			key, selected, err := d.SelectWorkload(objects, pod, pod.Namespace)
			ns := namespaces[pod.Namespace]
			injected := ns == nil || manifest.AssumedNamespace(ns) || dialect.NotInjected(d, pod, ns) == ""
			if !member || err != nil || !selected || key != w.Key || !injected {
				continue
			}
			o, err := d.PodOptions(pod, w)
			if err != nil { // injection refuses the pod
				continue
			}
			of := filesOfPod{pod: pod, folders: []string{sidecar.FilesDir, sidecar.CertificatesDir}}
			if o.KeepImage {
				of.folders = append(of.folders, "/")
			}
			for _, m := range slices.Concat(o.SecretMounts, o.VolumeMounts) {
				of.folders = append(of.folders, m.Path)
			}
			for _, c := range pod.Spec.Containers {
				for _, m := range c.VolumeMounts {
					if o.ProxyContainer != "" && c.Name == o.ProxyContainer {
						of.folders = append(of.folders, m.MountPath)
					}
				}
			}
			out[w.Key] = append(out[w.Key], of)
		}
	}
	return out
}
