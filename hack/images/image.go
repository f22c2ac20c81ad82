package main

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// recipe describes how to build an image.
type recipe struct {
	name        string // name of the archive, and of the image below anymesh.dev/
	title       string
	description string
	packages    []string // Debian packages
	envoy       bool
	archs       []string // all supported architectures
	user        string
}

var recipes = []recipe{
	{
		name: "anymesh", title: "Anymesh", description: "The control plane of Anymesh.",
		packages: []string{"ca-certificates", "tzdata"}, // architecture-independent, because the program is static
		archs:    []string{"amd64", "arm64"}, user: "65532:65532",
	},
	{
		name: "envoy", title: "Anymesh sidecar with Envoy",
		description: "Envoy, and the agent that captures traffic and looks after it.",
		// ldd envoy lists only libc6
		packages: []string{"base-files", "ca-certificates", "libc6", "netbase", "tzdata"},
		envoy:    true, archs: []string{"amd64"}, user: "1337:1337",
	},
}

// release has the values of the labels of all images, read from the program in the images.
type release struct {
	version  string
	revision string
	created  time.Time
	unlocked []string // NAME=VERSION of Debian packages of one image that differ from images.lock
}

const (
	source   = "https://anymesh.dev/anymesh"
	licenses = "Apache-2.0"
	program  = "/usr/local/bin/anymesh"
	// unlockedLabel marks an image that must not be released: another build of the same commit may differ.
	unlockedLabel = "dev.anymesh.images.unlocked"
)

// labels returns the labels of the OCI image specification. They are labels of the image, and annotations of its
// manifest and index.
func (r recipe) labels(of release) map[string]string {
	out := map[string]string{}
	for name, value := range map[string]string{
		"title": r.title, "description": r.description, "version": of.version, "revision": of.revision,
		"source":   source,
		"licenses": licenses, "created": of.created.UTC().Format(time.RFC3339),
	} {
		if value != "" {
			out["org.opencontainers.image."+name] = value
		}
	}
	if len(of.unlocked) > 0 {
		out[unlockedLabel] = strings.Join(of.unlocked, " ")
	}
	return out
}

// image combines layers into the image of one architecture.
func (r recipe) image(arch string, of release, layers []v1.Layer) (v1.Image, error) {
	config := &v1.ConfigFile{
		Architecture: arch, OS: "linux", Created: v1.Time{Time: of.created.UTC()}, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			Entrypoint: []string{program}, User: r.user, WorkingDir: "/", Labels: r.labels(of),
			Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		},
	}
	image, err := mutate.ConfigFile(
		mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON),
		config,
	)
	if err != nil {
		return nil, err
	}
	for _, layer := range layers {
		added := mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
			Created: config.Created, CreatedBy: "anymesh make images",
		}}
		if image, err = mutate.Append(image, added); err != nil {
			return nil, err
		}
	}
	return annotated(image, r.labels(of))
}

func annotated(image v1.Image, with map[string]string) (v1.Image, error) {
	out, ok := mutate.Annotations(image, with).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("the annotated image is a %T", out)
	}
	return out, nil
}

// index combines the images of all architectures.
func (r recipe) index(of release, images map[string]v1.Image) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range r.archs {
		image, ok := images[arch]
		if !ok {
			continue
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: "linux", Architecture: arch},
		}})
	}
	out, ok := mutate.Annotations(index, r.labels(of)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("the annotated index is a %T", out)
	}
	return out, nil
}
