package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"anymesh.dev/anymesh/charts"
)

// chartFile is the file of the Helm chart with the digests of the images.
func (b builder) chartFile() string {
	return filepath.Join(b.out(), "anymesh-chart-"+b.of.version+".tgz")
}

// chart writes the Helm chart, as helm package does, with the digest of each image in its default values: a pod then
// runs these images, wherever the tag points. Equal input gives equal bytes. digests has those of the images, by name.
func (b builder) chart(digests map[string]string) error {
	return replace(b.chartFile(), func(w io.Writer) error {
		z := gzip.NewWriter(w) // its header has no name and no time
		out := tar.NewWriter(z)
		err := errors.Join(
			eachFile(charts.Anymesh, func(name string, body []byte) error {
				if name == "anymesh/values.yaml" {
					var err error
					if body, err = pinImages(body, digests); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
				return add(out, name, body)
			}),
			eachFile(b.crds, func(name string, body []byte) error { return add(out, "anymesh/crds/"+name, body) }),
		)
		return errors.Join(err, out.Close(), z.Close())
	})
}

func eachFile(folder fs.FS, do func(name string, body []byte) error) error {
	return fs.WalkDir(folder, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Ext(name) == ".go" {
			return err
		}
		body, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		return do(path.Clean(name), body)
	})
}

func add(out *tar.Writer, name string, body []byte) error {
	err := out.WriteHeader(&tar.Header{
		Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(body)), ModTime: time.Unix(0, 0),
		Format: tar.FormatUSTAR,
	})
	if err != nil {
		return err
	}
	_, err = out.Write(body)
	return err
}

// pinImages adds the digests to the images in the values of the chart. Each image must be there.
func pinImages(values []byte, digests map[string]string) ([]byte, error) {
	for name, digest := range digests {
		image := fmt.Appendf(nil, "anymesh.dev/%s:%s\n", name, charts.Version())
		if !bytes.Contains(values, image) {
			return nil, fmt.Errorf("no value %s", image)
		}
		pinned := fmt.Appendf(nil, "%s@%s\n", bytes.TrimSpace(image), digest)
		values = bytes.ReplaceAll(values, image, pinned)
	}
	return values, nil
}
