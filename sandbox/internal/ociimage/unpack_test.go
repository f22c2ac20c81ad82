package ociimage

import (
	"archive/tar"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	oci "github.com/opencontainers/image-spec/specs-go/v1"

	"anymesh.dev/anymesh/sandbox/internal/ociimage/ocitest"
)

// Short names: the tables below are full of them.
var dir, file, link, hard = ocitest.Dir, ocitest.File, ocitest.Link, ocitest.Hard

// mine are entries that belong to who runs the test, who need not be root.
func mine(entries []*tar.Header) string {
	for _, e := range entries {
		e.Uid, e.Gid = os.Getuid(), os.Getgid()
	}
	return ocitest.Tar(entries...)
}

func open(t *testing.T, layers ...string) *Image {
	t.Helper()
	m := ocitest.New()
	image, err := Open(write(t, m, m.Image("amd64", oci.ImageConfig{}, layers...)), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(image.Close)
	return image
}

// unpack gives what is in the folder: names, with what files hold or links lead to.
func unpack(t *testing.T, layers ...[]*tar.Header) (map[string]string, string, error) {
	t.Helper()
	var texts []string
	for _, l := range layers {
		texts = append(texts, mine(l))
	}
	folder := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	err := open(t, texts...).Unpack(folder, DefaultLimits)
	got := map[string]string{}
	walk := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, folder), "/")
		switch {
		case name == "":
		case e.IsDir():
			got[name] = "/"
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			got[name] = "-> " + to
		default:
			text, err := os.ReadFile(path)
			got[name] = string(text)
			return err
		}
		return nil
	})
	if walk != nil {
		t.Fatal(walk)
	}
	return got, folder, err
}

func TestUnpack(t *testing.T) {
	for what, test := range map[string]struct {
		layers [][]*tar.Header
		want   map[string]string
	}{
		"later layers win": {
			[][]*tar.Header{
				{dir("a/"), file("a/x", "old"), file("b", "file")}, {file("a/x", "new"), dir("b"), file("b/y", "")},
			},
			map[string]string{"a": "/", "a/x": "new", "b": "/", "b/y": ""},
		},
		"folders that are not listed": {
			[][]*tar.Header{{file("a/b/c", "x")}}, map[string]string{"a": "/", "a/b": "/", "a/b/c": "x"},
		},
		"a slash in front": {
			[][]*tar.Header{{file("/a", "x"), dir("./"), file("./b", "y")}}, map[string]string{"a": "x", "b": "y"},
		},
		"a file is gone": {
			[][]*tar.Header{{file("a/x", "x"), file("a/y", "y")}, {file("a/.wh.x", "")}},
			map[string]string{"a": "/", "a/y": "y"},
		},
		"a folder is gone, and another one is new": {
			[][]*tar.Header{{file("a/b/x", "x")}, {file("a/.wh.b", ""), file("c", "")}},
			map[string]string{"a": "/", "c": ""},
		},
		"a folder is opaque": {
			[][]*tar.Header{{file("a/b/x", "x"), file("a/y", "y")}, {file("a/b/z", "z"), file("a/.wh..wh..opq", "")}},
			map[string]string{"a": "/", "a/b": "/", "a/b/z": "z"},
		},
		"whiteouts of what is not there, and of aufs": {
			[][]*tar.Header{{file("a/.wh.x", ""), file("b/.wh..wh..opq", ""), file(".wh..wh.plnk", "")}},
			map[string]string{},
		},
		"whiteouts leave their own layer alone": {
			[][]*tar.Header{{file("a/x", "old"), file("a/y", "old")}, {file("a/x", "new"), file(".wh.a", "")}},
			map[string]string{"a": "/", "a/x": "new"},
		},
		"through links": {
			[][]*tar.Header{
				{dir("usr/bin"), link("bin", "usr/bin"), link("var", "/usr")},
				{file("bin/sh", "x"), file("var/lib/y", "y")},
			},
			map[string]string{
				"usr": "/", "usr/bin": "/", "usr/bin/sh": "x", "usr/lib": "/", "usr/lib/y": "y",
				"bin": "-> usr/bin", "var": "-> /usr",
			},
		},
		"a file in the place of a link": {
			[][]*tar.Header{{file("x", "x"), link("y", "x")}, {file("y", "y")}}, map[string]string{"x": "x", "y": "y"},
		},
		"hard links": {
			[][]*tar.Header{{file("a/x", "x"), hard("y", "a/x"), hard("z", "/a/x")}},
			map[string]string{"a": "/", "a/x": "x", "y": "x", "z": "x"},
		},
		"devices": {
			[][]*tar.Header{
				{&tar.Header{Name: "null", Typeflag: tar.TypeChar}, &tar.Header{Name: "p", Typeflag: tar.TypeFifo}},
			},
			map[string]string{},
		},
	} {
		got, _, err := unpack(t, test.layers...)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for name := range got {
			if _, ok := test.want[name]; !ok {
				t.Errorf("%s: %s is there: %q", what, name, got[name])
			}
		}
		for name, text := range test.want {
			if has, ok := got[name]; !ok || has != text {
				t.Errorf("%s: %s: got %q (%v), want %q", what, name, has, ok, text)
			}
		}
	}
}

// Whatever a layer says, nothing outside of the folder changes: it is refused, or it ends up inside.
func TestUnpackStaysInside(t *testing.T) {
	for what, entries := range map[string][]*tar.Header{
		"up":                     {file("../evil", "x")},
		"up in the middle":       {file("a/../../evil", "x")},
		"absolute link":          {link("a", "/"), file("a/evil", "x")},
		"relative link":          {link("a", "../../../.."), file("a/evil", "x")},
		"link to a link":         {link("b", ".."), link("a", "b/.."), file("a/evil", "x")},
		"over a link":            {link("a", "../victim"), file("a", "x")},
		"folder over a link":     {link("a", "../outside"), dir("a"), file("a/evil", "x")},
		"hard link":              {hard("a", "../victim"), file("a", "x")},
		"hard link by a link":    {link("a", ".."), hard("b", "a/victim"), file("b", "x")},
		"hard link of a link":    {link("a", "../victim"), hard("b", "a"), file("b", "x")},
		"endless links":          {link("a", "b"), link("b", "a"), file("a/evil", "x")},
		"whiteout of the parent": {file(".wh...", "")},
		"whiteout of itself":     {file("a/.wh..", "")},
		"whiteout of nothing":    {file(".wh.", "")},
		"whiteout by a link":     {link("a", ".."), file("a/.wh.victim", "")},
		"opaque by a link":       {link("a", ".."), file("a/.wh..wh..opq", "")},
		"permissions of a link": {
			link("a", "../victim"),
			&tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../victim", Mode: 0o777},
		},
	} {
		m := ocitest.New()
		image, err := Open(write(t, m, m.Image("amd64", oci.ImageConfig{}, mine(entries))), "amd64")
		if err != nil {
			t.Fatal(err)
		}
		outside := t.TempDir()
		root := filepath.Join(outside, "root")
		for _, folder := range []string{root, filepath.Join(outside, "outside")} {
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("as it was"), 0o600); err != nil {
			t.Fatal(err)
		}
		err = image.Unpack(root, DefaultLimits)
		image.Close()
		names, _ := filepath.Glob(filepath.Join(outside, "*"))
		below, _ := filepath.Glob(filepath.Join(outside, "outside", "*"))
		if len(names) != 3 || len(below) != 0 {
			t.Errorf("%s: outside are %v and %v (%v)", what, names, below, err)
		}
		info, _ := os.Stat(filepath.Join(outside, "victim"))
		if text, _ := os.ReadFile(filepath.Join(outside, "victim")); string(text) != "as it was" ||
			info.Mode().Perm() != 0o600 {
			t.Errorf("%s: a file outside was changed to %q, %s (%v)", what, text, info.Mode(), err)
		}
		if _, err := os.Stat("/evil"); err == nil {
			t.Fatalf("%s: /evil was made", what)
		}
	}
}

func TestUnpackKeepsPermissions(t *testing.T) {
	_, folder, err := unpack(t, []*tar.Header{
		{
			Name:     "tmp",
			Typeflag: tar.TypeDir,
			Mode:     0o1777,
		}, {Name: "su", Typeflag: tar.TypeReg, Mode: 0o4755}, {Name: "secret", Typeflag: tar.TypeReg, Mode: 0o600},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]fs.FileMode{
		"tmp": fs.ModeDir | fs.ModeSticky | 0o777, "su": fs.ModeSetuid | 0o755, "secret": 0o600,
	} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
			t.Errorf("%s: got %v, want %s (%v)", name, info.Mode(), want, err)
		}
	}
}

// Sums are verified, of the layer as it is stored and without compression, and what it may unpack to is bounded.
func TestUnpackRefuses(t *testing.T) {
	big := mine([]*tar.Header{file("a", strings.Repeat("x", 100_000)), file("b", "")})
	for want, test := range map[string]struct {
		limits Limits
		change func(*Image)
	}{
		"more bytes than":                {Limits{50_000, 10}, nil},
		"more files than":                {Limits{1 << 20, 1}, nil},
		"the sum without compression is": {DefaultLimits, func(i *Image) { i.diffIDs[0] = i.layers[0].Digest }},
		"media type":                     {DefaultLimits, func(i *Image) { i.layers[0].MediaType += "+zip" }},
		"is missing":                     {DefaultLimits, func(i *Image) { i.layers[0].Digest = i.diffIDs[0] }},
		"the sum is": {DefaultLimits, func(i *Image) {
			name := "blobs/sha256/" + i.layers[0].Digest.Encoded()
			i.layers[0].Digest = i.diffIDs[0]
			i.archive.members["blobs/sha256/"+i.diffIDs[0].Encoded()] = i.archive.members[name]
		}},
	} {
		image := open(t, big)
		if test.change != nil {
			test.change(image)
		}
		if err := image.Unpack(t.TempDir(), test.limits); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// An image is unpacked once, by whoever is first; a part that is left behind is not taken for the whole.
func TestStore(t *testing.T) {
	image := open(t, mine([]*tar.Header{file("a", "x")}))
	store := Store{filepath.Join(t.TempDir(), "images")}
	var roots [8]string
	var all sync.WaitGroup
	part := filepath.Join(store.Dir, strings.ReplaceAll(image.Digest, ":", "-")+".part")
	if err := os.MkdirAll(filepath.Join(part, "old"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i := range roots {
		all.Go(func() {
			var err error
			if roots[i], err = store.Root(image); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := os.ReadDir(roots[0])
	if err != nil || len(entries) != 1 || len(slices.Compact(roots[:])) != 1 {
		t.Errorf("roots %v with %v: %v", roots, entries, err)
	}
}
