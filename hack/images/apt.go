package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// apt is the package archive in the apt configuration of this machine. Apt verifies the signature of the package
// list, and the checksums of downloads against the list.
type apt struct{ release string } // required codename of the Debian release

func (a apt) update() error {
	if err := a.check(); err != nil {
		return err
	}
	if out, err := aptGet("", "update"); err != nil {
		return fmt.Errorf("apt-get update (it needs root): %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (a apt) offers(p pin) bool {
	_, err := a.show(p, p.aptName()+"="+p.version)
	return err == nil
}

func (a apt) newest(p pin) (pin, error) { return a.show(p, p.aptName()) }

// show returns the metadata of one package version. A version that is installed, but not in the archive, has no
// checksum.
func (a apt) show(p pin, what string) (pin, error) {
	command := exec.Command("apt-cache", "show", "--no-all-versions", what)
	out, err := command.Output()
	if err != nil {
		return pin{}, fmt.Errorf("%v: %w", command, err)
	}
	field := func(name string) string { return controlField(string(out), name) }
	found := pin{p.name, field("Version"), field("Architecture"), field("SHA256")}
	if found.version == "" || found.arch == "" || found.sha256 == "" {
		return pin{}, fmt.Errorf("%v: no Version, Architecture or SHA256 in the output", command)
	}
	return found, nil
}

func (a apt) download(folder string, pins []pin) error {
	if err := a.check(); err != nil {
		return err
	}
	args := []string{"download"}
	for _, p := range pins {
		args = append(args, p.aptName()+"="+p.version)
	}
	fmt.Println("fetching Debian packages:", strings.Join(args[1:], " "))
	if out, err := aptGet(folder, args...); err != nil {
		return fmt.Errorf("apt-get download: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

// check returns an error with instructions if the machine runs another release.
func (a apt) check() error {
	want := a.release
	text, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return fmt.Errorf("the images take packages of Debian %s, but the release of this machine is unknown: %w", want,
			err)
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
			"the images take packages of Debian %s, but this machine runs %s %s: run this on Debian %s, or copy "+
				"the files in hack/images/images.lock into .cache/debs",
			want,
			id,
			codename,
			want,
		)
	}
	return nil
}

// newest returns the newest version of each package.
func newest(from debSource, names []string) ([]pin, error) {
	if err := from.update(); err != nil {
		return nil, err
	}
	var pins []pin
	for _, name := range names {
		p, err := from.newest(pin{name: name, arch: "all"}) // apt shows the architecture of this machine
		if err != nil {
			return nil, err
		}
		pins = append(pins, p)
	}
	return pins, nil
}

// controlField returns a field of a paragraph of Debian metadata.
func controlField(paragraph, name string) string {
	for line := range strings.Lines(paragraph) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func aptGet(folder string, args ...string) ([]byte, error) {
	command := exec.Command("apt-get", append([]string{"-qq"}, args...)...)
	command.Dir = folder
	return command.CombinedOutput()
}
