package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"anymesh.dev/anymesh/charts"
)

// Two independent builds of the same input give equal bytes. A third build in the same place does nothing.
func TestBuildIsReproducible(t *testing.T) {
	b := inputs(t)
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	again := b
	again.bin = filepath.Join(t.TempDir(), "bin")
	if err := os.CopyFS(again.bin, os.DirFS(b.bin)); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{again.out(), filepath.Join(b.cache, "layers")} {
		if err := os.RemoveAll(folder); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.build(); err != nil {
		t.Fatal(err)
	}
	names := []string{
		"anymesh.tar",
		"anymesh-chart-1.2.3.tgz",
		"anymesh-linux-amd64.spdx.json",
		"anymesh-linux-arm64.spdx.json",
		"envoy.tar",
		"envoy-linux-amd64.spdx.json",
	}
	for _, name := range names {
		first, err := sumOf(filepath.Join(b.out(), name))
		if err != nil {
			t.Fatal(err)
		}
		if second, err := sumOf(filepath.Join(again.out(), name)); err != nil || first != second {
			t.Errorf("%s: got sha256 %s, then %s (error %v)", name, first, second, err)
		}
	}
	before, _ := os.Stat(b.archive(recipes[0]))
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(b.archive(recipes[0])); err != nil || !os.SameFile(before, after) {
		t.Errorf("an archive was written although nothing changed (error %v)", err)
	}
}

// Blobs have the digests in their names, labels have the source of the image, and each image has an SBOM as referrer.
func TestArchive(t *testing.T) {
	b := inputs(t)
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		path, top := unpack(t, b.archive(r))
		named := top.Manifests[0]
		if named.Annotations["io.containerd.image.name"] != "anymesh.dev/"+r.name+":1.2.3" ||
			named.Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
			t.Errorf("%s: got image name %v", r.name, named.Annotations)
		}
		root, err := path.ImageIndex()
		if err != nil {
			t.Fatal(err)
		}
		index, err := root.ImageIndex(named.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", r.name, err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		var archs []string
		for _, d := range manifest.Manifests {
			archs = append(archs, d.Platform.Architecture)
			image, err := index.Image(d.Digest)
			if err != nil {
				t.Fatal(err)
			}
			checkImage(t, r, image)
		}
		if !slices.Equal(archs, r.archs) || len(top.Manifests) != 1+len(archs) {
			t.Errorf("%s: got images for %v, want %v; got %d manifests in index.json", r.name, archs, r.archs,
				len(top.Manifests))
		}
		for i, d := range top.Manifests[1:] {
			checkReferrer(t, path, d, manifest.Manifests[i].Digest)
		}
	}
}

// An image with a package version other than that of the lock has a label, and its SBOM marks the package. Other
// images are not affected.
func TestUnlockedImageIsMarked(t *testing.T) {
	b := inputs(t)
	pinned := slices.IndexFunc(b.lock.debs, func(p pin) bool { return p.name == "netbase" }) // only in the envoy image
	b.source = replacedArchive{b.lock.debs[pinned]}
	b.lock.debs[pinned].version = "0.9"
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		path, top := unpack(t, b.archive(r))
		root, err := path.ImageIndex()
		if err != nil {
			t.Fatal(err)
		}
		index, err := root.ImageIndex(top.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if r.name == "envoy" {
			want = "netbase=1:2~3"
		}
		if got := manifest.Annotations[unlockedLabel]; got != want {
			t.Errorf("%s: annotation %s: got %q, want %q", r.name, unlockedLabel, got, want)
		}
		sbom, err := os.ReadFile(r.sbomFile(b.out(), "amd64"))
		if marked := bytes.Contains(sbom, []byte("which pins version 0.9.")); err != nil || marked != (want != "") {
			t.Errorf("%s: got unlocked package in the SBOM: %v (error %v)", r.name, marked, err)
		}
	}
	b.locked = true
	if err := b.build(); err == nil || !strings.Contains(err.Error(), "netbase 0.9 (the archive has 1:2~3)") {
		t.Errorf("locked: got error %v, want one with the version", err)
	}
}

func checkImage(t *testing.T, r recipe, image v1.Image) {
	t.Helper()
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"version":  "1.2.3",
		"revision": "abc",
		"created":  "2023-11-14T22:13:20Z",
		"title":    r.title,
		"licenses": "Apache-2.0",
	}
	for name, value := range want {
		if got := config.Config.Labels["org.opencontainers.image."+name]; got != value {
			t.Errorf("%s: label %s: got %q, want %q", r.name, name, got, value)
		}
	}
	if config.Config.User != r.user || !config.Created.Equal(testRelease.created) {
		t.Errorf("%s: got user %s, created %s", r.name, config.Config.User, config.Created)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, layer := range layers {
		in, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		tree, err := readTree(in)
		if err != nil {
			t.Fatal(err)
		}
		for name, n := range tree {
			files[name] = string(n.body)
		}
	}
	for _, name := range []string{
		"usr/local/bin/anymesh", "etc/passwd", "etc/group", "tmp", "var/lib/dpkg/status.d/tzdata",
		"usr/share/doc/tzdata/copyright",
	} {
		if _, ok := files[name]; !ok {
			t.Errorf("%s: %s is missing", r.name, name)
		}
	}
	if _, ok := files["usr/local/bin/envoy"]; ok != r.envoy {
		t.Errorf("%s: got Envoy %v, want %v", r.name, ok, r.envoy)
	}
	if bundle := files["etc/ssl/certs/ca-certificates.crt"]; !strings.Contains(
		bundle,
		"certificate of ca-certificates\ncertificate of ",
	) {
		t.Errorf("%s: got certificate bundle %q", r.name, bundle)
	}
	if _, ok := files["usr/share/doc/tzdata/README"]; ok {
		t.Errorf("%s: the image has unwanted files", r.name)
	}
}

func checkReferrer(t *testing.T, path layout.Path, d v1.Descriptor, image v1.Hash) {
	t.Helper()
	raw, err := path.Bytes(d.Digest)
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		ArtifactType string
		Subject      v1.Descriptor
		Layers       []v1.Descriptor
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	if m.ArtifactType != "application/spdx+json" || m.Subject.Digest != image {
		t.Errorf("got a referrer of type %s to %s, want application/spdx+json to %s", m.ArtifactType, m.Subject.Digest,
			image)
	}
	list, err := path.Bytes(m.Layers[0].Digest)
	if err != nil || !bytes.Contains(list, []byte(image.Hex)) ||
		!bytes.Contains(list, []byte("pkg:deb/debian/tzdata@1%3A2~3")) {
		t.Errorf("the SBOM does not contain the image %s and its packages (error %v)", image, err)
	}
}

// The chart of a release has all files of the chart, and the digests of its images in its default values.
func TestChartHasDigests(t *testing.T) {
	b := inputs(t)
	if err := b.build(); err != nil {
		t.Fatal(err)
	}
	files := filesOf(t, b.chartFile())
	for name, part := range map[string]string{
		"anymesh/Chart.yaml": "name: anymesh", "anymesh/templates/controlplane.yaml": "image: {{ .Values.image }}",
		"anymesh/templates/_labels.tpl": "define", "anymesh/crds/appmesh.k8s.aws_meshes.yaml": "CustomResourceDefinition",
	} {
		if !strings.Contains(files[name], part) {
			t.Errorf("%s has no text %q", name, part)
		}
	}
	for _, r := range recipes {
		_, top := unpack(t, b.archive(r))
		image := "anymesh.dev/" + r.name + ":" + charts.Version()
		values := files["anymesh/values.yaml"]
		pinned := image + "@" + top.Manifests[0].Digest.String()
		if n := strings.Count(values, ": "+pinned+"\n"); n == 0 || n != strings.Count(values, image) {
			t.Errorf("%d of %d values with the image are %s", n, strings.Count(values, image), pinned)
		}
	}
}

// filesOf reads a compressed archive.
func filesOf(t *testing.T, name string) map[string]string {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[header.Name] = string(body)
	}
}
