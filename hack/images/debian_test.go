package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeArchive has one version of each package. The file of a package is its name and version.
type fakeArchive struct {
	now     map[string]string // name → version
	updates int
	down    error // what update answers
}

func (a *fakeArchive) pin(name, version string) pin {
	sum := sha256.Sum256([]byte(name + version))
	return pin{name, version, "all", hex.EncodeToString(sum[:])}
}

func (a *fakeArchive) update() error { a.updates++; return a.down }

func (a *fakeArchive) offers(p pin) bool { return a.now[p.name] == p.version }

func (a *fakeArchive) newest(p pin) (pin, error) { return a.pin(p.name, a.now[p.name]), nil }

func (a *fakeArchive) download(folder string, pins []pin) error {
	for _, p := range pins { // all or nothing, as apt-get does it
		if !a.offers(p) {
			return errors.New("E: Version '" + p.version + "' for '" + p.name + "' was not found")
		}
	}
	for _, p := range pins {
		if err := os.WriteFile(filepath.Join(folder, p.debFile()), []byte(p.name+p.version), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A package that is in the cache as pinned is not fetched; one that is missing or another file is.
func TestFetchUsesTheCache(t *testing.T) {
	archive := &fakeArchive{now: map[string]string{"d": "2"}}
	f := fetcher{folder: t.TempDir(), source: archive}
	p := archive.pin("d", "1")
	path := filepath.Join(f.folder, p.debFile())
	put(t, path, "d1")
	if got, err := f.fetch([]pin{p}); err != nil || got[0] != (fetched{pin: p, path: path}) {
		t.Errorf("want %s, got %v, %v", path, got, err)
	}
	if archive.updates != 0 {
		t.Error("the archive is asked for what is in the cache")
	}
	archive.now["d"] = "1"
	put(t, path, "another body")
	if got, err := f.fetch([]pin{p}); err != nil || got[0].pinned != "" {
		t.Errorf("want the pinned package fetched again, got %v, %v", got, err)
	}
	if body, _ := os.ReadFile(path); string(body) != "d1" {
		t.Errorf("the file is still %q", body)
	}
}

// When a pinned version has left the archive, the newer one takes its place and a warning names both; with locked, it
// is an error. Packages that the archive still has are as pinned.
func TestFetchOfAVersionThatLeft(t *testing.T) {
	archive := &fakeArchive{now: map[string]string{"stays": "1", "left": "3"}}
	pins := []pin{archive.pin("stays", "1"), archive.pin("left", "2")}
	const want = "left 2 (the archive has 3). Run `make images-lock`"

	t.Run("default", func(t *testing.T) {
		var warning strings.Builder
		got, err := fetcher{folder: t.TempDir(), source: archive, warn: &warning}.fetch(pins)
		if err != nil {
			t.Fatal(err)
		}
		if got[0].pin != pins[0] || got[0].pinned != "" || got[1].pin != archive.pin("left", "3") ||
			got[1].pinned != "2" {
			t.Errorf("got %v", got)
		}
		text := warning.String()
		if !strings.Contains(text, want) || strings.Contains(text, "stays") || strings.Count(text, "\n") != 1 {
			t.Errorf("want one line with %q, got %q", want, text)
		}
	})
	t.Run("locked", func(t *testing.T) {
		_, err := fetcher{folder: t.TempDir(), source: archive, locked: true}.fetch(pins)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	})
	t.Run("archive out of reach", func(t *testing.T) {
		away := &fakeArchive{now: archive.now, down: errors.New("no route to host")}
		_, err := fetcher{folder: t.TempDir(), source: away}.fetch(pins)
		if err == nil || !strings.Contains(err.Error(), "no route to host") {
			t.Errorf("want an error: old lists do not say what the archive has; got %v", err)
		}
	})
}

// The sum of the lock holds for a version that the archive still has: another file is an error.
func TestFetchChecksTheSum(t *testing.T) {
	archive := &fakeArchive{now: map[string]string{"d": "1"}}
	p := archive.pin("d", "1")
	p.sha256 = sum
	if _, err := (fetcher{folder: t.TempDir(), source: archive}).fetch([]pin{p}); err == nil ||
		!strings.Contains(err.Error(), "has the sha256 sum") {
		t.Errorf("want an error about the sum, got %v", err)
	}
}

func TestAptOfAnotherRelease(t *testing.T) {
	err := apt{"nowhere"}.download(t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "take packages of Debian nowhere, and this machine") {
		t.Errorf("want an error that names the release, got %v", err)
	}
}
