package imagemap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func load(t *testing.T, texts ...string) (*Map, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "prog"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	var files []string
	for i, text := range texts {
		f := filepath.Join(dir, string(rune('a'+i))+".yaml")
		if err := os.WriteFile(f, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return Load(files...)
}

// TestFind checks the precedence of entries. The args identify the entry.
func TestFind(t *testing.T) {
	m, err := load(t, `
images:
  example.com/a:v1: {program: prog, args: [exact]}
  example.com/a: {program: prog, args: [name]}
  example.com/*: {program: prog, args: [one-level]}
  "registry.io/deep/*": {program: prog, args: [prefix]}
  "*/b:v?": {program: prog, args: [pattern]}
  nginx: {program: prog, args: [short]}
  replaced: {program: prog, args: [old]}
`, `
images:
  replaced: {program: prog, args: [new]}
`)
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]string{
		"example.com/a:v1":             "exact",
		"example.com/a:v2":             "name",
		"example.com/a":                "name",
		"example.com/a@sha256:0123":    "name",
		"example.com/a:v1@sha256:0123": "exact",
		"example.com/other:1":          "one-level",
		"registry.io/deep/er/still:1":  "prefix",
		"somewhere/b:v1":               "pattern",
		"nginx:1.29":                   "short",
		"docker.io/library/nginx:1.29": "short",
		"localhost:5000/nginx":         "",
		"replaced":                     "new",
		"unknown":                      "",
	} {
		t.Run(image, func(t *testing.T) {
			got := ""
			if img, ok := m.Find(image); ok {
				got = img.Args[0]
			}
			if got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestPathsAreRelativeToTheFile(t *testing.T) {
	m, err := load(t, "images: {a: {program: prog, root: ., files: {/etc/x: prog}}}")
	if err != nil {
		t.Fatal(err)
	}
	img, _ := m.Find("a")
	for _, p := range []string{img.Program, img.Root, img.Files["/etc/x"]} {
		if !filepath.IsAbs(p) {
			t.Errorf("%q is not absolute", p)
		}
	}
}

// TestLoadErrors checks that errors name the entry and the field.
func TestLoadErrors(t *testing.T) {
	for text, want := range map[string]string{
		"images: {a: {programm: prog}}":          "programm",
		"images: {a: {program: nowhere}}":        `images["a"]: program`,
		"images: {a: {root: prog}}":              "not a folder",
		"images: {a: {program: prog, env: [X]}}": "NAME=value",
		"images: {a: {files: {relative: prog}}}": "must be absolute",
		"images: {a: {files: {/x: nowhere}}}":    "files[/x]",
		`images: {"[": {program: prog}}`:         `images["["]`,
		"images: {a: {ociArchive: nowhere}}":     `images["a"]: ociArchive`,
		"images: {a: {ociArchive: prog}}":        "not an OCI image layout",
		"images: {a: {ociArchive: x, root: .}}":  "only one of them",
		"images: [a]":                            "image map",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		})
	}
	if _, err := Load("/no/such/file"); err == nil {
		t.Error("want an error for a missing file")
	}
}
