package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// debSource is an archive of Debian packages.
type debSource interface {
	// update fetches the package list of the archive.
	update() error
	// offers reports whether the list has this version of the package.
	offers(pin) bool
	// newest returns the version of the package in the list, with its checksum in the signed list.
	newest(pin) (pin, error)
	// download downloads packages into the folder.
	download(folder string, pins []pin) error
}

// fetched is a package in the cache.
type fetched struct {
	pin
	path   string
	pinned string // the version of the lock, if the archive no longer has it and pin has another version
}

// fetcher returns Debian packages from the cache or from their source.
type fetcher struct {
	folder string
	source debSource
	locked bool      // a pinned version that the archive no longer has is an error
	warn   io.Writer // receives warnings about versions other than those of the lock
}

// fetch downloads the packages that are not in the folder.
//
// Debian removes a version from its archive when there is a newer one. The newer version is then used instead, so
// that any commit can be built, unless locked is set.
func (f fetcher) fetch(pins []pin) ([]fetched, error) {
	if err := os.MkdirAll(f.folder, 0o755); err != nil {
		return nil, err
	}
	out, missing := make([]fetched, len(pins)), []*fetched{}
	for i, p := range pins {
		out[i] = fetched{pin: p, path: filepath.Join(f.folder, p.debFile())}
		switch sum, err := sumOf(out[i].path); {
		case errors.Is(err, os.ErrNotExist) || err == nil && sum != p.sha256:
			_ = os.Remove(out[i].path) // apt would use it as the requested file
			missing = append(missing, &out[i])
		case err != nil:
			return nil, err
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	if err := f.download(missing); err != nil {
		return nil, err
	}
	for _, d := range missing {
		if sum, err := sumOf(d.path); err != nil {
			return nil, fmt.Errorf("package %s: apt-get download did not create the file: %w", d.name, err)
		} else if sum != d.sha256 {
			return nil, fmt.Errorf("package %s: %s has the sha256 sum %s, want %s", d.name, d.path, sum, d.sha256)
		}
	}
	return out, nil
}

// download downloads packages from the source. If that fails, it updates the package list and tries again.
func (f fetcher) download(missing []*fetched) error {
	first := f.source.download(f.folder, pinsOf(missing))
	if first == nil {
		return nil
	}
	if err := f.source.update(); err != nil {
		return errors.Join(first, err)
	}
	var gone []string
	for _, d := range missing {
		if f.source.offers(d.pin) {
			continue
		}
		newest, err := f.source.newest(d.pin)
		if err != nil {
			return err
		}
		gone = append(gone, fmt.Sprintf("%s %s (the archive has %s)", d.name, d.version, newest.version))
		*d = fetched{pin: newest, path: filepath.Join(f.folder, newest.debFile()), pinned: d.version}
	}
	if len(gone) > 0 {
		what := "Debian's archive no longer has versions that hack/images/images.lock pins: " +
			strings.Join(gone, ", ") + ". Run `make images-lock`, check the changes, and commit them"
		if f.locked {
			return errors.New(what)
		}
		fmt.Fprintf(f.warn, "warning: %s. This build uses the versions of the archive.\n", what)
	}
	return f.source.download(f.folder, pinsOf(missing))
}

func pinsOf(debs []*fetched) []pin {
	out := make([]pin, len(debs))
	for i, d := range debs {
		out[i] = d.pin
	}
	return out
}

// debFile is the file name that apt-get download uses: the colon of an epoch is escaped.
func (p pin) debFile() string {
	return p.name + "_" + strings.ReplaceAll(p.version, ":", "%3a") + "_" + p.arch + ".deb"
}

func (p pin) aptName() string {
	if p.arch == "all" {
		return p.name
	}
	return p.name + ":" + p.arch
}

// openDeb unpacks a package.
func openDeb(f fetched) (deb, error) {
	out, path := deb{fetched: f}, f.path
	data, err := exec.Command("dpkg-deb", "--fsys-tarfile", path).Output()
	if err != nil {
		return out, fmt.Errorf("dpkg-deb --fsys-tarfile %s: %w", path, err)
	}
	if out.files, err = readTree(bytes.NewReader(data)); err != nil {
		return out, fmt.Errorf("%s: %w", path, err)
	}
	control, err := exec.Command("dpkg-deb", "--info", path, "control").Output()
	if err != nil {
		return out, fmt.Errorf("dpkg-deb --info %s: %w", path, err)
	}
	out.control = string(control)
	return out, nil
}

func sumOf(path string) (string, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:]), nil
}
