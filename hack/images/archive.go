package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	godigest "github.com/opencontainers/go-digest"
	specs "github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// spdxType is the media type of an SBOM, and the artifact type of the manifest that links it to an image.
const spdxType = "application/spdx+json"

// writeArchive writes an OCI archive: the index of an image under its name, and the SBOMs, by architecture, as
// referrers of its images.
func writeArchive(
	path, name, version string,
	index v1.ImageIndex,
	images map[string]v1.Image,
	sboms map[string][]byte,
	archs []string,
) error {
	folder, err := os.MkdirTemp(filepath.Dir(path), ".layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	into, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	named := layout.WithAnnotations(map[string]string{
		oci.AnnotationRefName:      version,              // read by skopeo, podman and oras
		"io.containerd.image.name": name + ":" + version, // read by containerd, kind and Docker
	})
	if err := into.AppendIndex(index, named); err != nil {
		return err
	}
	for _, arch := range archs {
		if images[arch] == nil {
			continue
		}
		if err := refer(into, images[arch], sboms[arch]); err != nil {
			return fmt.Errorf("the SBOM for %s: %w", arch, err)
		}
	}
	return replace(path, func(w io.Writer) error { return pack(os.DirFS(folder), w) })
}

// refer adds an SBOM, with a manifest that has the image as its subject.
func refer(into layout.Path, image v1.Image, sbom []byte) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	size, err := image.Size()
	if err != nil {
		return err
	}
	blob := func(b []byte) (v1.Hash, int64, error) {
		hash, size, err := v1.SHA256(bytes.NewReader(b))
		if err == nil {
			err = into.WriteBlob(hash, io.NopCloser(bytes.NewReader(b)))
		}
		return hash, size, err
	}
	if _, _, err := blob(oci.DescriptorEmptyJSON.Data); err != nil {
		return err
	}
	list, listSize, err := blob(sbom)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: oci.MediaTypeImageManifest, ArtifactType: spdxType, Config: oci.DescriptorEmptyJSON,
		Layers: []oci.Descriptor{{MediaType: spdxType, Digest: godigest.Digest(list.String()), Size: listSize}},
		Subject: &oci.Descriptor{
			MediaType: oci.MediaTypeImageManifest, Digest: godigest.Digest(digest.String()), Size: size,
		},
	})
	if err != nil {
		return err
	}
	manifest, manifestSize, err := blob(raw)
	if err != nil {
		return err
	}
	return into.AppendDescriptor(v1.Descriptor{
		MediaType: oci.MediaTypeImageManifest, ArtifactType: spdxType, Digest: manifest, Size: manifestSize,
	})
}

// pack writes a folder as a tar file. Equal contents give equal bytes.
func pack(folder fs.FS, w io.Writer) error {
	out := tar.NewWriter(w)
	err := fs.WalkDir(folder, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: info.Size(), ModTime: time.Unix(0, 0),
			Format: tar.FormatUSTAR,
		}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		in, err := folder.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, in)
		return errors.Join(err, in.Close())
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// replace writes a file atomically.
func replace(path string, write func(io.Writer) error) error {
	out, err := os.CreateTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(out.Name())
	defer out.Close()
	if err := write(out); err != nil {
		return err
	}
	if err := out.Chmod(0o644); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(out.Name(), path)
}
