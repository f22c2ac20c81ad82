// Package ocitest creates OCI archives for tests.
//
// In: images as layers of entries, or deliberately invalid parts. Out: a tar file.
package ocitest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// Archive contains blobs by the hex digits of their digest.
type Archive struct{ Blobs map[string]string }

// New returns an archive without blobs.
func New() *Archive { return &Archive{map[string]string{}} }

// AddBlob adds a blob.
func (a *Archive) AddBlob(mediaType, text string) oci.Descriptor {
	d := digest.FromString(text)
	a.Blobs[d.Encoded()] = text
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

// AddJSON adds a value as JSON. It panics if the value cannot be encoded.
func (a *Archive) AddJSON(mediaType string, value any) oci.Descriptor {
	return a.AddBlob(mediaType, toJSON(value))
}

func toJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%T as JSON: %v", value, err))
	}
	return string(text)
}

// AddImage adds an image with layers created by Tar. Write adds it to the index.
func (a *Archive) AddImage(arch string, config oci.ImageConfig, layers ...string) oci.Descriptor {
	all := oci.Image{Platform: oci.Platform{OS: "linux", Architecture: arch}, Config: config}
	manifest := oci.Manifest{MediaType: oci.MediaTypeImageManifest}
	for _, layer := range layers {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write([]byte(layer)) // writes to memory do not fail
		_ = w.Close()
		manifest.Layers = append(manifest.Layers, a.AddBlob(oci.MediaTypeImageLayerGzip, z.String()))
		all.RootFS.DiffIDs = append(all.RootFS.DiffIDs, digest.FromString(layer))
	}
	manifest.Config = a.AddJSON(oci.MediaTypeImageConfig, all)
	return a.AddJSON(oci.MediaTypeImageManifest, manifest)
}

// Write writes the archive, with the given manifests in its index.
func (a *Archive) Write(file string, manifests ...oci.Descriptor) error {
	entries := []*tar.Header{
		File("./"+oci.ImageLayoutFile, toJSON(oci.ImageLayout{Version: oci.ImageLayoutVersion})),
		File(oci.ImageIndexFile, toJSON(oci.Index{Manifests: manifests})),
	}
	for _, name := range slices.Sorted(maps.Keys(a.Blobs)) {
		entries = append(entries, File("blobs/sha256/"+name, a.Blobs[name]))
	}
	return os.WriteFile(file, []byte(Tar(entries...)), 0o644)
}

// File returns a regular file for Tar. A header has no content, so Linkname holds it until Tar writes the file.
func File(name, text string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: text}
}

// Dir returns a folder for Tar.
func Dir(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeDir} }

// Symlink returns a symbolic link for Tar.
func Symlink(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

// HardLink returns a hard link for Tar.
func HardLink(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

// Tar returns a tar file. The default permission is 0755. It panics if an entry cannot be encoded.
func Tar(entries ...*tar.Header) string {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h, body := *e, ""
		if h.Typeflag == tar.TypeReg {
			body, h.Linkname = h.Linkname, ""
			h.Size = int64(len(body))
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		err := w.WriteHeader(&h)
		if err == nil {
			_, err = w.Write([]byte(body))
		}
		if err != nil {
			panic(fmt.Sprintf("tar entry %s: %v", h.Name, err))
		}
	}
	_ = w.Close() // writes to memory do not fail
	return out.String()
}
