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

// fakeArchive has one version of each package. The content of a package file is its name and version.
type fakeArchive struct {
	now     map[string]string // name → version
	updates int
	down    error // result of update
}

func (a *fakeArchive) pin(name, version string) pin {
	sum := sha256.Sum256([]byte(name + version))
	return pin{name, version, "all", hex.EncodeToString(sum[:])}
}

func (a *fakeArchive) update() error { a.updates++; return a.down }

func (a *fakeArchive) offers(p pin) bool { return a.now[p.name] == p.version }

func (a *fakeArchive) newest(p pin) (pin, error) { return a.pin(p.name, a.now[p.name]), nil }

func (a *fakeArchive) download(folder string, pins []pin) error {
	for _, p := range pins { // all or nothing, like apt-get
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

// A package in the cache with the pinned checksum is not fetched. A missing or different file is.
func TestFetchUsesCache(t *testing.T) {
	archive := &fakeArchive{now: map[string]string{"d": "2"}}
	f := fetcher{folder: t.TempDir(), source: archive}
	p := archive.pin("d", "1")
	path := filepath.Join(f.folder, p.debFile())
	put(t, path, "d1")
	if got, err := f.fetch([]pin{p}); err != nil || got[0] != (fetched{pin: p, path: path}) {
		t.Errorf("got %[2]v, error %[3]v, want %[1]s", path, got, err)
	}
	if archive.updates != 0 {
		t.Error("a package in the cache was downloaded")
	}
	archive.now["d"] = "1"
	put(t, path, "another body")
	if got, err := f.fetch([]pin{p}); err != nil || got[0].pinned != "" {
		t.Errorf("got %v, error %v, want the pinned package downloaded again", got, err)
	}
	if body, _ := os.ReadFile(path); string(body) != "d1" {
		t.Errorf("got file content %q", body)
	}
}

// If the archive no longer has a pinned version, the newer one is used with a warning that names both. With locked,
// it is an error. Other packages stay as pinned.
func TestFetchReplacesRemovedVersion(t *testing.T) {
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
			t.Errorf("got warnings %[2]q, want one line with %[1]q", want, text)
		}
	})
	t.Run("locked", func(t *testing.T) {
		_, err := fetcher{folder: t.TempDir(), source: archive, locked: true}.fetch(pins)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %[2]v, want %[1]q", want, err)
		}
	})
	t.Run("archive unreachable", func(t *testing.T) {
		unreachable := &fakeArchive{now: archive.now, down: errors.New("no route to host")}
		_, err := fetcher{folder: t.TempDir(), source: unreachable}.fetch(pins)
		if err == nil || !strings.Contains(err.Error(), "no route to host") {
			t.Errorf("got error %v, want one: the package list may be outdated", err)
		}
	})
}

// The checksum in the lock is verified for a version that the archive still has.
func TestFetchVerifiesChecksum(t *testing.T) {
	archive := &fakeArchive{now: map[string]string{"d": "1"}}
	p := archive.pin("d", "1")
	p.sha256 = sum
	if _, err := (fetcher{folder: t.TempDir(), source: archive}).fetch([]pin{p}); err == nil ||
		!strings.Contains(err.Error(), "has the sha256 sum") {
		t.Errorf("got error %v, want one about the checksum", err)
	}
}

func TestAptRequiresRelease(t *testing.T) {
	err := apt{"nowhere"}.download(t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "take packages of Debian nowhere, but this machine runs") {
		t.Errorf("got error %v, want one with the release", err)
	}
}
