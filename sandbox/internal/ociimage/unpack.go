package ociimage

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/opencontainers/go-digest"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// Limits limit the unpacked size of all layers of an image.
type Limits struct {
	Bytes   int64 // uncompressed bytes
	Entries int   // files, folders and links
}

// DefaultLimits allow images of several gigabytes.
var DefaultLimits = Limits{Bytes: 8 << 30, Entries: 1_000_000}

// Unpack unpacks the file system of the image into an empty folder. After an error the folder is incomplete.
//
// Owners and permissions are kept if the process may set them; in a user namespace, files with unmapped IDs belong to
// root. Devices, pipes, sockets and extended attributes are omitted.
func (i *Image) Unpack(folder string, limits Limits) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for n, layer := range i.layers {
		if err := i.apply(root, layer, i.diffIDs[n], &limits); err != nil {
			return fmt.Errorf("OCI archive %s: layer %d (%s): %w", i.archive.file.Name(), n+1, layer.Digest, err)
		}
	}
	return nil
}

// apply unpacks one layer and verifies its compressed and uncompressed digests.
func (i *Image) apply(root *os.Root, layer oci.Descriptor, diffID digest.Digest, limits *Limits) error {
	blob, err := i.archive.blob(layer.Digest)
	if err != nil {
		return err
	}
	stored, plain := digest.SHA256.Digester(), digest.SHA256.Digester()
	in := io.TeeReader(blob, stored.Hash())
	content := in
	switch layer.MediaType {
	case oci.MediaTypeImageLayer:
	case oci.MediaTypeImageLayerGzip, "application/vnd.docker.image.rootfs.diff.tar.gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return err
		}
		defer z.Close()
		content = z
	default:
		return fmt.Errorf("media type %q: want a tar file, uncompressed or gzip", layer.MediaType)
	}
	bounded := &boundedReader{in: io.TeeReader(content, plain.Hash()), left: &limits.Bytes}
	if err := newLayer(root, limits).unpack(tar.NewReader(bounded)); err != nil {
		return err
	}
	// Data after the end of the tar file is part of the digests.
	for _, rest := range []io.Reader{bounded, in} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return err
		}
	}
	if sum := stored.Digest(); sum != layer.Digest {
		return fmt.Errorf("the digest is %s", sum)
	}
	if sum := plain.Digest(); sum != diffID {
		return fmt.Errorf("the uncompressed digest is %s, want %s from the configuration", sum, diffID)
	}
	return nil
}

var errTooLarge = errors.New("the image exceeds the limit of unpacked bytes")

// boundedReader returns an error when the limit is exceeded. Several readers share one limit.
type boundedReader struct {
	in   io.Reader
	left *int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	if *b.left -= int64(n); *b.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}
