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

// Limits bound what an image may unpack to, in all layers together.
type Limits struct {
	Bytes   int64 // of the layers without compression
	Entries int   // files, folders and links
}

// DefaultLimits are enough for images of several gigabytes.
var DefaultLimits = Limits{Bytes: 8 << 30, Entries: 1_000_000}

// Unpack writes the image's file system into an empty folder. After an error the folder holds a part of it.
//
// Owners and permissions are kept as far as the process may set them: in a user namespace, files of ids that it does
// not have are root's. Devices, pipes, sockets and extended attributes are left out.
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

// apply unpacks one layer over what is there, and verifies both of its sums.
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
		return fmt.Errorf("media type %q: want a tar file, plain or compressed by gzip", layer.MediaType)
	}
	bounded := &boundedReader{in: io.TeeReader(content, plain.Hash()), left: &limits.Bytes}
	if err := newLayer(root, limits).unpack(tar.NewReader(bounded)); err != nil {
		return err
	}
	// What follows the end of the tar file counts for the sums.
	for _, rest := range []io.Reader{bounded, in} {
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return err
		}
	}
	if sum := stored.Digest(); sum != layer.Digest {
		return fmt.Errorf("the sum is %s", sum)
	}
	if sum := plain.Digest(); sum != diffID {
		return fmt.Errorf("the sum without compression is %s, the configuration says %s", sum, diffID)
	}
	return nil
}

var errTooLarge = errors.New("the image unpacks to more bytes than are allowed")

// boundedReader fails when more is read than is left. Several of them share what is left.
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
