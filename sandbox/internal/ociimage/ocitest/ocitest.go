// Package ocitest makes OCI archives for tests.
//
// In: images as layers of entries, or parts of images that are wrong on purpose. Out: a tar file.
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

// Archive collects blobs, by the digits of their sums.
type Archive struct{ Blobs map[string]string }

// New makes an archive without blobs.
func New() *Archive { return &Archive{map[string]string{}} }

// Blob adds a blob.
func (a *Archive) Blob(mediaType, text string) oci.Descriptor {
	d := digest.FromString(text)
	a.Blobs[d.Encoded()] = text
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(text))}
}

// Document adds a value as JSON. It panics if there is no JSON for it.
func (a *Archive) Document(mediaType string, value any) oci.Descriptor {
	return a.Blob(mediaType, document(value))
}

func document(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("%T as JSON: %v", value, err))
	}
	return string(text)
}

// Image adds an image of layers that Tar made. Write puts it into the index.
func (a *Archive) Image(arch string, config oci.ImageConfig, layers ...string) oci.Descriptor {
	all := oci.Image{Platform: oci.Platform{OS: "linux", Architecture: arch}, Config: config}
	manifest := oci.Manifest{MediaType: oci.MediaTypeImageManifest}
	for _, layer := range layers {
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, _ = w.Write([]byte(layer)) // memory takes it
		_ = w.Close()
		manifest.Layers = append(manifest.Layers, a.Blob(oci.MediaTypeImageLayerGzip, z.String()))
		all.RootFS.DiffIDs = append(all.RootFS.DiffIDs, digest.FromString(layer))
	}
	manifest.Config = a.Document(oci.MediaTypeImageConfig, all)
	return a.Document(oci.MediaTypeImageManifest, manifest)
}

// Write writes the archive, with the given manifests in its index.
func (a *Archive) Write(file string, manifests ...oci.Descriptor) error {
	entries := []*tar.Header{
		File("./"+oci.ImageLayoutFile, document(oci.ImageLayout{Version: oci.ImageLayoutVersion})),
		File(oci.ImageIndexFile, document(oci.Index{Manifests: manifests})),
	}
	for _, name := range slices.Sorted(maps.Keys(a.Blobs)) {
		entries = append(entries, File("blobs/sha256/"+name, a.Blobs[name]))
	}
	return os.WriteFile(file, []byte(Tar(entries...)), 0o644)
}

// File is a regular file for Tar, which finds its text in Linkname.
func File(name, text string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Linkname: text}
}

// Dir is a folder for Tar.
func Dir(name string) *tar.Header { return &tar.Header{Name: name, Typeflag: tar.TypeDir} }

// Link is a symbolic link for Tar.
func Link(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}
}

// Hard is a hard link for Tar.
func Hard(name, to string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeLink, Linkname: to}
}

// Tar gives a tar file. Permissions are 0755 unless an entry has some. It panics if an entry has no place in a tar
// file.
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
	_ = w.Close() // memory takes it
	return out.String()
}
