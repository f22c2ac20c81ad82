package runtime

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rt "k8s.io/cri-api/pkg/apis/runtime/v1"

	"anymesh.dev/anymesh/sandbox/internal/imagemap"
)

// Images implements the image service of the CRI with an image map. Nothing is downloaded.
type Images struct {
	Map *imagemap.Map
	// Pod returns the Pod of a pull: an image without an entry is accepted if the Pod sets a command.
	Pod func(ctx context.Context, namespace, name string) (*corev1.Pod, error)
}

func errNoImage(name string) error {
	return fmt.Errorf("image %q is not in the image map of the sandbox, and the container has no command: add \"images: {%q: {program: /path/to/program}}\", or ociArchive instead of program, to a file, and start the sandbox with --images FILE", name, name)
}

// ListImages implements the CRI.
func (i Images) ListImages(context.Context, *rt.ImageFilter) ([]*rt.Image, error) {
	var out []*rt.Image
	for _, e := range i.Map.Entries() {
		image, err := describe(e.Name, e.Image)
		if err != nil {
			return nil, err
		}
		out = append(out, image)
	}
	return out, nil
}

func describe(name string, img imagemap.Image) (*rt.Image, error) {
	out := &rt.Image{Id: name, RepoTags: []string{name}, Size: 1, Spec: &rt.ImageSpec{Image: name}}
	switch {
	case img.User != nil:
		out.Uid = &rt.Int64Value{Value: *img.User}
	case img.OCIArchive != "":
		opened, err := img.Open()
		if err != nil {
			return nil, fmt.Errorf("image %q: %w", name, err)
		}
		defer opened.Close()
		out.Uid, out.Username = imageUser(opened.Config)
	}
	return out, nil
}

// ImageStatus implements the CRI: images of the map are present.
func (i Images) ImageStatus(_ context.Context, spec *rt.ImageSpec, _ bool) (*rt.ImageStatusResponse, error) {
	img, ok := i.Map.Find(imageName(spec))
	if !ok {
		return &rt.ImageStatusResponse{}, nil
	}
	image, err := describe(imageName(spec), img)
	if err != nil {
		return nil, err
	}
	return &rt.ImageStatusResponse{Image: image}, nil
}

// PullImage implements the CRI. It succeeds for images of the map, and for images if all their containers in the Pod
// set a command.
func (i Images) PullImage(ctx context.Context, spec *rt.ImageSpec, _ *rt.AuthConfig,
	sb *rt.PodSandboxConfig) (string, error) {
	name := imageName(spec)
	if _, ok := i.Map.Find(name); ok {
		return name, nil
	}
	pod, err := i.Pod(ctx, sb.GetMetadata().GetNamespace(), sb.GetMetadata().GetName())
	if err != nil {
		return "", fmt.Errorf("image %q: reading its Pod: %w", name, err)
	}
	if !givesCommand(pod, name) {
		return "", errNoImage(name)
	}
	return name, nil
}

func givesCommand(pod *corev1.Pod, image string) bool {
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range list {
			if c.Image == image && len(c.Command) == 0 {
				return false
			}
		}
	}
	for _, c := range pod.Spec.EphemeralContainers {
		if c.Image == image && len(c.Command) == 0 {
			return false
		}
	}
	return true
}

// RemoveImage implements the CRI. It does nothing: users own the map.
func (i Images) RemoveImage(context.Context, *rt.ImageSpec) error { return nil }

// ImageFsInfo implements the CRI.
func (i Images) ImageFsInfo(context.Context) (*rt.ImageFsInfoResponse, error) {
	fs := []*rt.FilesystemUsage{
		{
			Timestamp: time.Now().UnixNano(), FsId: &rt.FilesystemIdentifier{Mountpoint: "/"},
			UsedBytes: &rt.UInt64Value{}, InodesUsed: &rt.UInt64Value{},
		},
	}
	return &rt.ImageFsInfoResponse{ImageFilesystems: fs, ContainerFilesystems: fs}, nil
}

// Close implements the CRI.
func (i Images) Close(context.Context) error { return nil }
