package main

import (
	"os"
	"strings"
	"testing"
)

const sum = "a88a3ed5b48bf80f523b9a00956ad1e5bcf5aab750bd2c2f3023c37e1ccf1884"

// The lock of the repository is what `make images-lock` would write, and pins all that the images take.
func TestLockOfTheRepository(t *testing.T) {
	text, err := os.ReadFile("images.lock")
	if err != nil {
		t.Fatal(err)
	}
	l, err := parseLock(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if l.String() != string(text) {
		t.Errorf("images.lock is not formatted; want\n%s", l)
	}
	if pins, err := l.packages(allPackages()); err != nil || len(pins) != len(l.debs) {
		t.Errorf("images.lock pins %d packages, the images take %d: %v", len(l.debs), len(pins), err)
	}
}

func TestLockRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "a line with debian",
		"deb tzdata 1 all":                  "line 1: want",
		"\ndeb tzdata 1 all 12":             `line 2: "12": want a sha256 sum`,
		"deb --tzdata 1 all " + sum:         `"--tzdata": only`,
		"deb ../../tzdata 1 all " + sum:     `"../../tzdata": only`,
		"snap x 1 " + sum:                   "line 1: want",
		"debian x\nwheel w 1 " + sum:        "lines with deb",
		"debian x\ndeb d 1 all " + sum:      "with wheel",
		"wheel w 1 " + sum[:63] + "A # why": "only lower case",
	} {
		t.Run(want, func(t *testing.T) {
			if _, err := parseLock(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: want an error with %q, got %v", text, want, err)
			}
		})
	}
}
