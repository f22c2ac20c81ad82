package ociimage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"

	"anymesh.dev/anymesh/sandbox/internal/ociimage/ocitest"
)

// writeFile writes a file and returns its name.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t *testing.T, a *ocitest.Archive, manifests ...oci.Descriptor) string {
	t.Helper()
	file := writeFile(t, "")
	if err := a.Write(file, manifests...); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestOpenFindsTheImage checks that the image for the platform is found in nested indexes and that other artifacts
// are ignored.
func TestOpenFindsTheImage(t *testing.T) {
	m := ocitest.New()
	want := m.AddImage("amd64", oci.ImageConfig{Entrypoint: []string{"/a"}, User: "1:2"})
	other := m.AddImage("arm64", oci.ImageConfig{})
	sbom := m.AddJSON(
		oci.MediaTypeImageManifest,
		oci.Manifest{Config: oci.DescriptorEmptyJSON, ArtifactType: "application/spdx+json"},
	)
	marked, typed := sbom, want
	marked.ArtifactType, typed.ArtifactType = "application/spdx+json", oci.MediaTypeImageConfig
	index := m.AddJSON(oci.MediaTypeImageIndex, oci.Index{Manifests: []oci.Descriptor{other, want, sbom}})
	for what, file := range map[string]string{
		"single":        write(t, m, want),
		"with others":   write(t, m, other, want, marked),
		"in an index":   write(t, m, index, sbom),
		"twice":         write(t, m, want, index),
		"with its type": write(t, m, typed),
	} {
		t.Run(what, func(t *testing.T) {
			image, err := Open(file, "amd64")
			if err != nil {
				t.Fatal(err)
			}
			if image.Digest != want.Digest.String() || image.Config.Entrypoint[0] != "/a" ||
				image.Config.User != "1:2" {
				t.Errorf("got %+v", image)
			}
			image.Close()
		})
	}
}

func TestOpenErrors(t *testing.T) {
	m := ocitest.New()
	amd, arm := m.AddImage("amd64", oci.ImageConfig{}), m.AddImage("arm64", oci.ImageConfig{})
	second := m.AddImage("amd64", oci.ImageConfig{User: "1"})
	missing := oci.Descriptor{MediaType: oci.MediaTypeImageManifest, Digest: digest.FromString("nowhere")}
	escaping := oci.Descriptor{MediaType: oci.MediaTypeImageManifest, Digest: "sha256:../../index.json"}
	weak := oci.Descriptor{
		MediaType: oci.MediaTypeImageManifest,
		Digest:    "sha512:" + digest.Digest(strings.Repeat("0", 128)),
	}
	wrong := m.AddBlob(oci.MediaTypeImageManifest, "{}")
	m.Blobs[wrong.Digest.Encoded()] = `{"config": {}}`
	short := m.AddJSON(oci.MediaTypeImageManifest, oci.Manifest{
		Config: m.AddJSON(oci.MediaTypeImageConfig,
			oci.Image{Platform: oci.Platform{OS: "linux", Architecture: "amd64"}}),
		Layers: []oci.Descriptor{amd},
	})
	deep := m.AddJSON(oci.MediaTypeImageIndex, oci.Index{})
	for range 6 {
		deep = m.AddJSON(oci.MediaTypeImageIndex, oci.Index{Manifests: []oci.Descriptor{deep}})
	}
	layout := ocitest.File("oci-layout", "")
	linked, long := ocitest.Symlink("index.json", "/etc/passwd"), ocitest.File("index.json",
		strings.Repeat(" ", maxJSON+1))
	for want, file := range map[string]string{
		"no image for linux/amd64, only for linux/arm64": write(t, m, arm),
		"the archive has no image":                       write(t, m),
		"2 images for linux/amd64":                       write(t, m, amd, second),
		"is missing":                                     write(t, m, missing),
		"invalid checksum":                               write(t, m, escaping),
		"sha512":                                         write(t, m, weak),
		"has the digest":                                 write(t, m, wrong),
		"1 layers and 0 digests":                         write(t, m, short),
		"nested indexes":                                 write(t, m, deep),
		"no such file":                                   filepath.Join(t.TempDir(), "nothing"),
		"not an OCI image layout":                        writeFile(t, "hello"),
		"the archive has no oci-layout":                  writeFile(t, ocitest.Tar(ocitest.File("index.json", "{}"))),
		"index.json: unexpected":                         writeFile(t, ocitest.Tar(ocitest.File("oci-layout", ""), ocitest.File("index.json", "{"))),
		"the archive has no index.json":                  writeFile(t, ocitest.Tar(layout, linked)),
		"index.json has 4194305 bytes":                   writeFile(t, ocitest.Tar(layout, long)),
	} {
		t.Run(want, func(t *testing.T) {
			if image, err := Open(file, "amd64"); err == nil {
				t.Errorf("want an error with %q, got %+v", want, image)
			} else if !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
				t.Errorf("want an error with %q and the file name, got %v", want, err)
			}
		})
	}
}
