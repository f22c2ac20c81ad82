package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// tree is the content of a layer: nodes by path, without a leading slash.
type tree map[string]node

// node is a folder, a symbolic link, or a file.
type node struct {
	mode     int64 // permissions with setuid, setgid and sticky bits
	dir      bool
	link     string
	body     []byte
	uid, gid int
}

func (t tree) file(name, text string) { t[name] = node{mode: 0o644, body: []byte(text)} }

// folders adds the missing parent folders.
func (t tree) folders() {
	for name := range maps.Clone(t) {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, ok := t[dir]; !ok {
				t[dir] = node{mode: 0o755, dir: true}
			}
		}
	}
}

// write writes the tree as a tar file. Equal trees give equal bytes: paths are sorted, so that folders precede their
// contents, and all times are 1970.
func (t tree) write(w io.Writer) error {
	t.folders()
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		n := t[name]
		h := &tar.Header{
			Name: name, Mode: n.mode, Uid: n.uid, Gid: n.gid, ModTime: time.Unix(0, 0), Format: tar.FormatUSTAR,
			Typeflag: tar.TypeReg, Size: int64(len(n.body)), Linkname: n.link,
		}
		switch {
		case n.dir:
			h.Typeflag, h.Name = tar.TypeDir, name+"/"
		case n.link != "":
			h.Typeflag = tar.TypeSymlink
		}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := out.Write(n.body); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return out.Close()
}

// readTree reads a tar file. A hard link becomes a copy of its target. Special files are errors, because no used
// package has any.
func readTree(r io.Reader) (tree, error) {
	t := tree{}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return nil, err
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		if name == "" {
			continue
		}
		n := node{mode: h.Mode & 0o7777, uid: h.Uid, gid: h.Gid}
		switch h.Typeflag {
		case tar.TypeDir:
			n.dir = true
		case tar.TypeSymlink:
			n.link = h.Linkname
		case tar.TypeLink:
			target, ok := t[strings.TrimPrefix(path.Clean("/"+h.Linkname), "/")]
			if !ok {
				return nil, fmt.Errorf("%s: hard link to %s, which does not exist", h.Name, h.Linkname)
			}
			n = target
		case tar.TypeReg:
			if n.body, err = io.ReadAll(in); err != nil {
				return nil, fmt.Errorf("%s: %w", h.Name, err)
			}
		default:
			return nil, fmt.Errorf("%s: files of type %q are not supported", h.Name, h.Typeflag)
		}
		t[name] = n
	}
}
