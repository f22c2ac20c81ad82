package inspect

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"anymesh.dev/anymesh/internal/build"
	"anymesh.dev/anymesh/internal/cli/terminal"
)

// Versions are those of the parts of an installation.
type Versions struct {
	Client build.Info `json:"client"`
	// ControlPlane has one entry for each running replica.
	ControlPlane []ReplicaVersion `json:"controlPlane,omitempty"`
	// Sidecars has one entry for each image, in order of the images.
	Sidecars []SidecarVersion `json:"sidecars,omitempty"`
}

// ReplicaVersion is the version of one replica of the control plane.
type ReplicaVersion struct {
	Pod string `json:"pod"`
	build.Info
}

// SidecarVersion counts the running pods whose agent has the same image.
type SidecarVersion struct {
	Image string `json:"image"`
	Pods  int    `json:"pods"`
}

// SidecarVersions counts the images of agents in running pods.
func SidecarVersions(pods []corev1.Pod) []SidecarVersion {
	images := map[string]int{}
	for _, p := range pods {
		if p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
			continue
		}
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if len(c.Command) > 1 && c.Command[0] == "anymesh" && c.Command[1] == "agent" {
				images[c.Image]++
			}
		}
	}
	var out []SidecarVersion
	for _, image := range slices.Sorted(maps.Keys(images)) {
		out = append(out, SidecarVersion{image, images[image]})
	}
	return out
}

// tag is the tag of an image, or its digest, or latest.
func tag(image string) string {
	if name, digest, pinned := strings.Cut(image, "@"); pinned {
		if of := tag(name); of != "latest" {
			return of
		}
		return digest
	}
	if name := image[strings.LastIndex(image, "/")+1:]; strings.Contains(name, ":") {
		return name[strings.Index(name, ":")+1:]
	}
	return "latest"
}

// Table writes one line for the client, for each replica and for each image of sidecars.
func (v Versions) Table(w io.Writer, s terminal.Style) error {
	t := terminal.Table{Headings: []string{"PART", "VERSION", "COMMIT", "DETAILS"}}
	row := func(part string, i build.Info, details string) {
		t.Row(part, s.Cyan(i.Version), i.ShortCommit(), s.Dim(details))
	}
	row("client", v.Client, v.Client.Platform+", "+v.Client.Go)
	for _, r := range v.ControlPlane {
		row("control plane", r.Info, cmp.Or(r.Pod, "-"))
	}
	for _, one := range v.Sidecars {
		t.Row("sidecars", s.Cyan(tag(one.Image)), "-", s.Dim(terminal.Count(one.Pods, "pod", "pods")+" of "+one.Image))
	}
	return t.Write(w, s)
}
