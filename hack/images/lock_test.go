package main

import (
	"os"
	"strings"
	"testing"
)

const sum = "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884"

// The lock of the repository has the format of `make images-lock`, and pins all packages of the images.
func TestRepositoryLock(t *testing.T) {
	text, err := os.ReadFile("images.lock")
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseLock(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.String() != string(text) {
		t.Errorf("images.lock is not formatted, want\n%s", l)
	}
	if pins, err := l.packages(allPackages()); err != nil || len(pins) != len(l.debs) {
		t.Errorf("images.lock pins %d packages, the images use %d (error %v)", len(l.debs), len(pins), err)
	}
}

func TestInvalidLocks(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "a debian line",
		"deb tzdata 1 all":                  "line 1: want",
		"\ndeb tzdata 1 all 12":             `line 2: "12": expected a sha256 checksum`,
		"deb --tzdata 1 all " + sum:         `"--tzdata": only`,
		"deb ../../tzdata 1 all " + sum:     `"../../tzdata": only`,
		"snap x 1 " + sum:                   "line 1: want",
		"debian x\nwheel w 1 " + sum:        ", deb lines",
		"debian x\ndeb d 1 all " + sum:      "wheel lines are required",
		"wheel w 1 " + sum[:63] + "A # why": "only lower-case",
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := parseLock(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%[1]q: got error %[3]v, want %[2]q", text, want, err)
			}
		})
	}
}
