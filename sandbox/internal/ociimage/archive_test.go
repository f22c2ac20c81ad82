package ociimage

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// maker writes an OCI archive.
type maker struct {
	t     *testing.T
	blobs map[string]string
	index oci.Index
}

func newMaker(t *testing.T) *maker { return &maker{t: t, blobs: map[string]string{}} }

func (m *maker) blob(mediaType, text string) oci.Descriptor {
	d := digest.FromString(text)
	m.blobs[d.Encoded()] = text
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

func (m *maker) document(mediaType string, value any) oci.Descriptor {
	text, err := json.Marshal(value)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.blob(mediaType, string(text))
}

// image adds an image whose layers are tar files; it changes nothing in index.json.
func (m *maker) image(arch string, config oci.ImageConfig, layers ...string) oci.Descriptor {
	all := oci.Image{Platform: oci.Platform{OS: "linux", Architecture: arch}, Config: config}
	manifest := oci.Manifest{MediaType: oci.MediaTypeImageManifest}
	for _, layer := range layers {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		w.Write([]byte(layer))
		w.Close()
		manifest.Layers = append(manifest.Layers, m.blob(oci.MediaTypeImageLayerGzip, z.String()))
		all.RootFS.DiffIDs = append(all.RootFS.DiffIDs, digest.FromString(layer))
	}
	manifest.Config = m.document(oci.MediaTypeImageConfig, all)
	return m.document(oci.MediaTypeImageManifest, manifest)
}

func (m *maker) write(top ...oci.Descriptor) string {
	m.index.Manifests = top
	index, err := json.Marshal(m.index)
	if err != nil {
		m.t.Fatal(err)
	}
	members := []*tar.Header{{Name: "./oci-layout", Linkname: `{"imageLayoutVersion":"1.0.0"}`}, {Name: "index.json", Linkname: string(index)}}
	for name, text := range m.blobs {
		members = append(members, &tar.Header{Name: "blobs/sha256/" + name, Linkname: text})
	}
	return m.put(layerOf(m.t, members...))
}

func (m *maker) put(text string) string {
	file := filepath.Join(m.t.TempDir(), "image.tar")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		m.t.Fatal(err)
	}
	return file
}

// layerOf writes a tar file. Of regular files, Linkname is what they hold.
func layerOf(t *testing.T, entries ...*tar.Header) string {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := *e
		body := ""
		if h.Typeflag == 0 || h.Typeflag == tar.TypeReg {
			h.Typeflag, body, h.Linkname = tar.TypeReg, h.Linkname, ""
			h.Size = int64(len(body))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		h.Uid, h.Gid = os.Getuid(), os.Getgid()
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The image for the platform is found among others, in an index or not, and what is no image is passed over.
func TestOpenFindsTheImage(t *testing.T) {
	m := newMaker(t)
	want := m.image("amd64", oci.ImageConfig{Entrypoint: []string{"/a"}, User: "1:2"})
	other := m.image("arm64", oci.ImageConfig{})
	sbom := m.document(oci.MediaTypeImageManifest, oci.Manifest{Config: oci.DescriptorEmptyJSON, ArtifactType: "application/spdx+json"})
	marked := sbom
	marked.ArtifactType = "application/spdx+json"
	index := m.document(oci.MediaTypeImageIndex, oci.Index{Manifests: []oci.Descriptor{other, want, sbom}})
	for what, file := range map[string]string{
		"alone": m.write(want), "with others": m.write(other, want, marked), "in an index": m.write(index, sbom), "twice": m.write(want, index),
	} {
		image, err := Open(file, "amd64")
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if image.Digest != want.Digest.String() || image.Config.Entrypoint[0] != "/a" || image.Config.User != "1:2" {
			t.Errorf("%s: got %+v", what, image)
		}
		image.Close()
	}
}

func TestOpenRefuses(t *testing.T) {
	m := newMaker(t)
	amd, arm := m.image("amd64", oci.ImageConfig{}), m.image("arm64", oci.ImageConfig{})
	second := m.image("amd64", oci.ImageConfig{User: "1"})
	missing := oci.Descriptor{MediaType: oci.MediaTypeImageManifest, Digest: digest.FromString("nowhere")}
	escaping := oci.Descriptor{MediaType: oci.MediaTypeImageManifest, Digest: "sha256:../../index.json"}
	weak := oci.Descriptor{MediaType: oci.MediaTypeImageManifest, Digest: "sha512:" + digest.Digest(strings.Repeat("0", 128))}
	wrong := m.blob(oci.MediaTypeImageManifest, "{}")
	m.blobs[wrong.Digest.Encoded()] = `{"config": {}}`
	short := m.document(oci.MediaTypeImageManifest, oci.Manifest{
		Config: m.document(oci.MediaTypeImageConfig, oci.Image{Platform: oci.Platform{OS: "linux", Architecture: "amd64"}}),
		Layers: []oci.Descriptor{amd},
	})
	deep := m.document(oci.MediaTypeImageIndex, oci.Index{})
	for range 6 {
		deep = m.document(oci.MediaTypeImageIndex, oci.Index{Manifests: []oci.Descriptor{deep}})
	}
	for want, file := range map[string]string{
		"no image for linux/amd64, only for linux/arm64": m.write(arm),
		"it has no image":              m.write(),
		"2 images for linux/amd64":     m.write(amd, second),
		"is missing":                   m.write(missing),
		"invalid checksum":             m.write(escaping),
		"sha512":                       m.write(weak),
		"has the sum":                  m.write(wrong),
		"1 layers and 0 sums":          m.write(short),
		"indexes in indexes":           m.write(deep),
		"no such file":                 filepath.Join(t.TempDir(), "nothing"),
		"not an OCI image layout":      m.put("hello"),
		"it has no oci-layout":         m.put(layerOf(t, &tar.Header{Name: "index.json", Linkname: "{}"})),
		"index.json: unexpected":       m.put(layerOf(t, &tar.Header{Name: "oci-layout"}, &tar.Header{Name: "index.json", Linkname: "{"})),
		"it has no index.json":         m.put(layerOf(t, &tar.Header{Name: "oci-layout"}, &tar.Header{Name: "index.json", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})),
		"index.json has 4194305 bytes": m.put(layerOf(t, &tar.Header{Name: "oci-layout"}, &tar.Header{Name: "index.json", Linkname: strings.Repeat(" ", maxJSON+1)})),
	} {
		if image, err := Open(file, "amd64"); err == nil {
			t.Errorf("want an error with %q, got %+v", want, image)
		} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("want an error with %q and the file's name, got %v", want, err)
		}
	}
}
