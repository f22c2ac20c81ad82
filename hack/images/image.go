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

// recipe says how one of our images is made.
type recipe struct {
	name        string // of the archive, and of the image below anymesh.dev/
	title       string
	description string
	packages    []string // of Debian
	envoy       bool
	archs       []string // all that there are
	user        string
}

var recipes = []recipe{
	{
		name: "anymesh", title: "Anymesh", description: "The control plane of Anymesh.",
		packages: []string{"ca-certificates", "tzdata"}, // for all architectures: the program is static
		archs:    []string{"amd64", "arm64"}, user: "65532:65532",
	},
	{
		name: "envoy", title: "Anymesh sidecar with Envoy",
		description: "Envoy, and the agent that captures traffic and looks after it.",
		packages:    []string{"base-files", "ca-certificates", "libc6", "netbase", "tzdata"}, // ldd envoy: libc6 alone
		envoy:       true, archs: []string{"amd64"}, user: "1337:1337",
	},
}

// release is what the labels of all images say, read from the program that is inside.
type release struct {
	version  string
	revision string
	created  time.Time
	unlocked []string // NAME=VERSION of Debian packages of one image that are not as images.lock pins them
}

const (
	source   = "https://anymesh.dev/anymesh"
	licenses = "Apache-2.0"
	program  = "/usr/local/bin/anymesh"
	// unlockedLabel marks an image that no release may have: another build of the same commit may differ.
	unlockedLabel = "dev.anymesh.images.unlocked"
)

// labels are those of the OCI image specification; they are labels of the image, and annotations of its manifest and
// index.
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

// image puts layers together for one architecture.
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

// index puts the images of all architectures together.
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
