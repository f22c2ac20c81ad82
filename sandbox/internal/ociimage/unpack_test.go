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

// Short names for the tables below.
var dir, file, link, hard = ocitest.Dir, ocitest.File, ocitest.Symlink, ocitest.HardLink

// ownedLayer returns a layer whose entries belong to the user of the test.
func ownedLayer(entries []*tar.Header) string {
	for _, e := range entries {
		e.Uid, e.Gid = os.Getuid(), os.Getgid()
	}
	return ocitest.Tar(entries...)
}

func open(t *testing.T, layers ...string) *Image {
	t.Helper()
	m := ocitest.New()
	image, err := Open(write(t, m, m.AddImage("amd64", oci.ImageConfig{}, layers...)), "amd64")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(image.Close)
	return image
}

// unpack returns the contents of the folder by name: file contents and link targets.
func unpack(t *testing.T, layers ...[]*tar.Header) (map[string]string, string, error) {
	t.Helper()
	var texts []string
	for _, l := range layers {
		texts = append(texts, ownedLayer(l))
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
		"later layers override earlier ones": {
			[][]*tar.Header{
				{dir("a/"), file("a/x", "old"), file("b", "file")}, {file("a/x", "new"), dir("b"), file("b/y", "")},
			},
			map[string]string{"a": "/", "a/x": "new", "b": "/", "b/y": ""},
		},
		"folders without entries": {
			[][]*tar.Header{{file("a/b/c", "x")}}, map[string]string{"a": "/", "a/b": "/", "a/b/c": "x"},
		},
		"leading slash": {
			[][]*tar.Header{{file("/a", "x"), dir("./"), file("./b", "y")}}, map[string]string{"a": "x", "b": "y"},
		},
		"whiteout of a file": {
			[][]*tar.Header{{file("a/x", "x"), file("a/y", "y")}, {file("a/.wh.x", "")}},
			map[string]string{"a": "/", "a/y": "y"},
		},
		"whiteout of a folder, and a new folder": {
			[][]*tar.Header{{file("a/b/x", "x")}, {file("a/.wh.b", ""), file("c", "")}},
			map[string]string{"a": "/", "c": ""},
		},
		"opaque folder": {
			[][]*tar.Header{{file("a/b/x", "x"), file("a/y", "y")}, {file("a/b/z", "z"), file("a/.wh..wh..opq", "")}},
			map[string]string{"a": "/", "a/b": "/", "a/b/z": "z"},
		},
		"whiteouts of missing files, and AUFS metadata": {
			[][]*tar.Header{{file("a/.wh.x", ""), file("b/.wh..wh..opq", ""), file(".wh..wh.plnk", "")}},
			map[string]string{},
		},
		"whiteouts do not apply to their own layer": {
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
		"file replaces a link": {
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
		t.Run(what, func(t *testing.T) {
			got, _, err := unpack(t, test.layers...)
			if err != nil {
				t.Fatal(err)
			}
			for name := range got {
				if _, ok := test.want[name]; !ok {
					t.Errorf("unexpected %s: %q", name, got[name])
				}
			}
			for name, text := range test.want {
				if has, ok := got[name]; !ok || has != text {
					t.Errorf("%s: got %q (%v), want %q", name, has, ok, text)
				}
			}
		})
	}
}

// TestUnpackStaysInside checks that no layer changes files outside the folder.
func TestUnpackStaysInside(t *testing.T) {
	for what, entries := range map[string][]*tar.Header{
		"parent":                          {file("../evil", "x")},
		"parent in the middle":            {file("a/../../evil", "x")},
		"absolute link":                   {link("a", "/"), file("a/evil", "x")},
		"relative link":                   {link("a", "../../../.."), file("a/evil", "x")},
		"link to a link":                  {link("b", ".."), link("a", "b/.."), file("a/evil", "x")},
		"file replaces an outside link":   {link("a", "../victim"), file("a", "x")},
		"folder replaces an outside link": {link("a", "../outside"), dir("a"), file("a/evil", "x")},
		"hard link":                       {hard("a", "../victim"), file("a", "x")},
		"hard link through a link":        {link("a", ".."), hard("b", "a/victim"), file("b", "x")},
		"hard link to a link":             {link("a", "../victim"), hard("b", "a"), file("b", "x")},
		"link loop":                       {link("a", "b"), link("b", "a"), file("a/evil", "x")},
		"whiteout of the parent":          {file(".wh...", "")},
		"whiteout of itself":              {file("a/.wh..", "")},
		"whiteout without a name":         {file(".wh.", "")},
		"whiteout through a link":         {link("a", ".."), file("a/.wh.victim", "")},
		"opaque whiteout through a link":  {link("a", ".."), file("a/.wh..wh..opq", "")},
		"permissions of a link": {
			link("a", "../victim"),
			&tar.Header{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "../victim", Mode: 0o777},
		},
	} {
		t.Run(what, func(t *testing.T) {
			m := ocitest.New()
			image, err := Open(write(t, m, m.AddImage("amd64", oci.ImageConfig{}, ownedLayer(entries))), "amd64")
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
			if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("unchanged"), 0o600); err != nil {
				t.Fatal(err)
			}
			err = image.Unpack(root, DefaultLimits)
			image.Close()
			names, _ := filepath.Glob(filepath.Join(outside, "*"))
			below, _ := filepath.Glob(filepath.Join(outside, "outside", "*"))
			if len(names) != 3 || len(below) != 0 {
				t.Errorf("files outside the folder: %v and %v (%v)", names, below, err)
			}
			info, _ := os.Stat(filepath.Join(outside, "victim"))
			if text, _ := os.ReadFile(filepath.Join(outside, "victim")); string(text) != "unchanged" ||
				info.Mode().Perm() != 0o600 {
				t.Errorf("a file outside was changed to %q, %s (%v)", text, info.Mode(), err)
			}
			if _, err := os.Stat("/evil"); err == nil {
				t.Fatal("/evil was created")
			}
		})
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
		t.Run(name, func(t *testing.T) {
			if info, err := os.Stat(filepath.Join(folder, name)); err != nil || info.Mode() != want {
				t.Errorf("got %v, want %s (%v)", info.Mode(), want, err)
			}
		})
	}
}

// TestUnpackErrors checks that compressed and uncompressed digests are verified and that the unpacked size is
// limited.
func TestUnpackErrors(t *testing.T) {
	big := ownedLayer([]*tar.Header{file("a", strings.Repeat("x", 100_000)), file("b", "")})
	for want, test := range map[string]struct {
		limits Limits
		change func(*Image)
	}{
		"limit of unpacked bytes":    {Limits{50_000, 10}, nil},
		"limit of files":             {Limits{1 << 20, 1}, nil},
		"the uncompressed digest is": {DefaultLimits, func(i *Image) { i.diffIDs[0] = i.layers[0].Digest }},
		"media type":                 {DefaultLimits, func(i *Image) { i.layers[0].MediaType += "+zip" }},
		"is missing":                 {DefaultLimits, func(i *Image) { i.layers[0].Digest = i.diffIDs[0] }},
		"the digest is": {DefaultLimits, func(i *Image) {
			name := "blobs/sha256/" + i.layers[0].Digest.Encoded()
			i.layers[0].Digest = i.diffIDs[0]
			i.archive.members["blobs/sha256/"+i.diffIDs[0].Encoded()] = i.archive.members[name]
		}},
	} {
		t.Run(want, func(t *testing.T) {
			image := open(t, big)
			if test.change != nil {
				test.change(image)
			}
			if err := image.Unpack(t.TempDir(), test.limits); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %v", want, err)
			}
		})
	}
}

// TestStore checks that an image is unpacked once by concurrent callers, and that an incomplete folder is not used.
func TestStore(t *testing.T) {
	image := open(t, ownedLayer([]*tar.Header{file("a", "x")}))
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
