package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// fetchDebs makes sure that the packages are in the folder, as they are pinned, and gives their paths in the same
// order. Only what is missing is asked of apt, which must be that of the lock's release.
func fetchDebs(folder, release string, pins []pin) ([]string, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	paths, missing := make([]string, len(pins)), []string{}
	for i, p := range pins {
		paths[i] = filepath.Join(folder, p.debFile())
		switch sum, err := sumOf(paths[i]); {
		case errors.Is(err, os.ErrNotExist) || err == nil && sum != p.sha256:
			_ = os.Remove(paths[i]) // apt would take it for what it is asked for
			missing = append(missing, p.aptName()+"="+p.version)
		case err != nil:
			return nil, err
		}
	}
	if len(missing) == 0 {
		return paths, nil
	}
	if err := isRelease(release); err != nil {
		return nil, err
	}
	fmt.Println("fetching Debian packages:", strings.Join(missing, " "))
	if _, err := apt(folder, append([]string{"download"}, missing...)...); err != nil {
		// The lists may be old, or not there at all. Whoever may not update them sees what the second try says.
		_, _ = apt(folder, "update")
		if out, err := apt(folder, append([]string{"download"}, missing...)...); err != nil {
			return nil, fmt.Errorf(
				"apt-get download: %w\n%s\nIf a pinned version has left the archive, run `make images-lock`, "+
					"look at the changes in hack/images/images.lock, and commit it",
				err,
				bytes.TrimSpace(out),
			)
		}
	}
	for i, p := range pins {
		if sum, err := sumOf(paths[i]); err != nil {
			return nil, fmt.Errorf("package %s: apt-get download did not give it: %w", p.name, err)
		} else if sum != p.sha256 {
			return nil, fmt.Errorf("package %s: %s has the sha256 sum %s, the lock says %s", p.name, paths[i], sum, p.sha256)
		}
	}
	return paths, nil
}

// debFile is the name that apt-get download gives to the file: an epoch's colon is escaped.
func (p pin) debFile() string {
	return p.name + "_" + strings.ReplaceAll(p.version, ":", "%3a") + "_" + p.arch + ".deb"
}

func (p pin) aptName() string {
	if p.arch == "all" {
		return p.name
	}
	return p.name + ":" + p.arch
}

// isRelease says what to do on a machine whose apt has other packages.
func isRelease(want string) error {
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return fmt.Errorf("the images take packages of Debian %s, and this machine does not say what it runs: %w", want, err)
	}
	var id, codename string
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch value = strings.Trim(value, `"`); name {
		case "ID":
			id = value
		case "VERSION_CODENAME":
			codename = value
		}
	}
	if _, err := exec.LookPath("apt-get"); err != nil || id != "debian" || codename != want {
		return fmt.Errorf(
			"the images take packages of Debian %s, and this machine runs %s %s: run this on Debian %s, or copy "+
				"the files that hack/images/images.lock names into .cache/debs",
			want,
			id,
			codename,
			want,
		)
	}
	return nil
}

// newest asks apt for the newest version of each package.
func newest(l lock, names []string) ([]pin, error) {
	if err := isRelease(l.release); err != nil {
		return nil, err
	}
	if out, err := apt("", "update"); err != nil {
		return nil, fmt.Errorf("apt-get update (it needs root): %w\n%s", err, bytes.TrimSpace(out))
	}
	var pins []pin
	for _, name := range names {
		command := exec.Command("apt-cache", "show", "--no-all-versions", name)
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("%v: %w", command, err)
		}
		field := func(name string) string { return controlField(string(out), name) }
		p := pin{name, field("Version"), field("Architecture"), field("SHA256")}
		if p.version == "" || p.arch == "" || p.sha256 == "" {
			return nil, fmt.Errorf("%v: no Version, Architecture or SHA256 in the answer", command)
		}
		pins = append(pins, p)
	}
	return pins, nil
}

// controlField gives a field of a paragraph of Debian's metadata.
func controlField(paragraph, name string) string {
	for line := range strings.Lines(paragraph) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func apt(folder string, args ...string) ([]byte, error) {
	command := exec.Command("apt-get", append([]string{"-qq"}, args...)...)
	command.Dir = folder
	return command.CombinedOutput()
}

// openDeb unpacks a package.
func openDeb(p pin, path string) (deb, error) {
	out := deb{pin: p}
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
