// Package ociimage reads a container image from an OCI archive and unpacks its file system.
//
// In: an OCI image layout in an untrusted tar file, and an empty folder. Out: the configuration and digest of the
// image, and the files of its layers in the folder; files outside the folder are never read or written. All digests
// are verified, and sizes are limited.
package ociimage

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

const (
	maxFiles = 10_000  // in the archive
	maxJSON  = 4 << 20 // bytes of an index, a manifest or a configuration
	maxLayer = 200     // layers of an image
)

// Image is one image of an archive for one platform. The archive stays open until Close.
type Image struct {
	Digest string // digest of the manifest
	Config oci.ImageConfig

	archive *archive
	layers  []oci.Descriptor
	diffIDs []digest.Digest // digests of the uncompressed layers
}

// Open opens the image for linux and the architecture in an archive. It returns an error if there is no such image,
// or more than one.
func Open(file, arch string) (*Image, error) {
	a, err := openArchive(file)
	if err != nil {
		return nil, fmt.Errorf("OCI archive %s: %w", file, err)
	}
	image, err := a.image(arch)
	if err != nil {
		a.file.Close()
		return nil, fmt.Errorf("OCI archive %s: %w", file, err)
	}
	return image, nil
}

// Close closes the archive.
func (i *Image) Close() { i.archive.file.Close() }

// archive is a tar file with random access to its members.
type archive struct {
	file    *os.File
	members map[string]*io.SectionReader
}

func openArchive(name string) (*archive, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	a := &archive{file: file, members: map[string]*io.SectionReader{}}
	if err := a.list(); err != nil {
		file.Close()
		return nil, fmt.Errorf("not an OCI image layout in a tar file: %w", err)
	}
	return a, nil
}

func (a *archive) list() error {
	// The reader skips the contents of members.
	for r := tar.NewReader(a.file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if len(a.members) == maxFiles {
			return fmt.Errorf("the archive has more than %d files", maxFiles)
		}
		at, err := a.file.Seek(0, io.SeekCurrent)
		if err != nil {
			return err
		}
		a.members[path.Clean(h.Name)] = io.NewSectionReader(a.file, at, h.Size)
	}
	for _, name := range []string{oci.ImageLayoutFile, oci.ImageIndexFile} {
		if a.members[name] == nil {
			return fmt.Errorf("the archive has no %s", name)
		}
	}
	return nil
}

// blob returns the blob of a digest. The caller must verify the digest.
func (a *archive) blob(d digest.Digest) (*io.SectionReader, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("digest %q: %w", d, err)
	}
	if d.Algorithm() != digest.SHA256 {
		return nil, fmt.Errorf("digest %q: only sha256 is supported", d)
	}
	m := a.members["blobs/sha256/"+d.Encoded()]
	if m == nil {
		return nil, fmt.Errorf("blob %s is missing", d)
	}
	return io.NewSectionReader(m, 0, m.Size()), nil
}

// document reads a verified JSON blob.
func (a *archive) document(d digest.Digest, into any) error {
	blob, err := a.blob(d)
	if err != nil {
		return err
	}
	if blob.Size() > maxJSON {
		return fmt.Errorf("blob %s has %d bytes, more than %d", d, blob.Size(), maxJSON)
	}
	text, err := io.ReadAll(blob)
	if err != nil {
		return err
	}
	if sum := digest.FromBytes(text); sum != d {
		return fmt.Errorf("blob %s has the digest %s", d, sum)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("blob %s: %w", d, err)
	}
	return nil
}

// image returns the image for the architecture.
func (a *archive) image(arch string) (*Image, error) {
	m := a.members[oci.ImageIndexFile]
	if m.Size() > maxJSON {
		return nil, fmt.Errorf("index.json has %d bytes, more than %d", m.Size(), maxJSON)
	}
	var index oci.Index
	if err := json.NewDecoder(io.NewSectionReader(m, 0, m.Size())).Decode(&index); err != nil {
		return nil, fmt.Errorf("index.json: %w", err)
	}
	found := search{archive: a, arch: arch, images: map[digest.Digest]*Image{}}
	if err := found.in(index, 0); err != nil {
		return nil, err
	}
	switch {
	case len(found.images) == 0 && len(found.others) > 0:
		return nil, fmt.Errorf("the archive has no image for linux/%s, only for %s", arch,
			strings.Join(found.others, ", "))
	case len(found.images) == 0:
		return nil, errors.New("the archive has no image")
	case len(found.images) > 1:
		return nil, fmt.Errorf("the archive has %d images for linux/%s, want one per archive", len(found.images),
			arch)
	}
	for _, image := range found.images {
		return image, nil
	}
	panic("unreachable")
}

// search searches indexes recursively.
type search struct {
	archive *archive
	arch    string
	images  map[digest.Digest]*Image // images for the platform
	others  []string                 // other platforms
}

const maxDepth = 3 // maximum depth of nested indexes

func (s *search) in(index oci.Index, depth int) error {
	if depth > maxDepth {
		return errors.New("nested indexes are too deep")
	}
	for _, d := range index.Manifests {
		switch d.MediaType {
		case oci.MediaTypeImageIndex, "application/vnd.docker.distribution.manifest.list.v2+json":
			var below oci.Index
			if err := s.archive.document(d.Digest, &below); err != nil {
				return err
			}
			if err := s.in(below, depth+1); err != nil {
				return err
			}
		case oci.MediaTypeImageManifest, "application/vnd.docker.distribution.manifest.v2+json":
			if err := s.manifest(d); err != nil {
				return err
			}
		}
	}
	return nil
}

// manifest adds an image for the platform. SBOMs and signatures have manifests without an image configuration. Some
// tools put the configuration type into artifactType of the descriptor.
func (s *search) manifest(d oci.Descriptor) error {
	if d.ArtifactType != "" && !isConfig(d.ArtifactType) || d.Annotations["vnd.docker.reference.type"] != "" ||
		s.images[d.Digest] != nil {
		return nil
	}
	var m oci.Manifest
	if err := s.archive.document(d.Digest, &m); err != nil {
		return err
	}
	if !isConfig(m.Config.MediaType) {
		return nil
	}
	var config oci.Image
	if err := s.archive.document(m.Config.Digest, &config); err != nil {
		return err
	}
	if config.OS != "linux" || config.Architecture != s.arch {
		s.others = append(s.others, config.OS+"/"+config.Architecture)
		return nil
	}
	if n := len(m.Layers); n > maxLayer || n != len(config.RootFS.DiffIDs) {
		return fmt.Errorf(
			"manifest %s has %d layers and %d digests, want equal numbers, at most %d",
			d.Digest,
			n,
			len(config.RootFS.DiffIDs),
			maxLayer,
		)
	}
	s.images[d.Digest] = &Image{
		Digest: d.Digest.String(), Config: config.Config,
		archive: s.archive, layers: m.Layers, diffIDs: config.RootFS.DiffIDs,
	}
	return nil
}

func isConfig(mediaType string) bool {
	return mediaType == oci.MediaTypeImageConfig || mediaType == "application/vnd.docker.container.image.v1+json"
}
