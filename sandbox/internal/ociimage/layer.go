package ociimage

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Whiteouts: file names that delete files of lower layers
// (https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts).
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq" // deletes all files of the folder in lower layers
	aufsNames      = ".wh..wh."     // other AUFS metadata is ignored
)

// layer unpacks one layer.
//
// Names in a layer may use links of the image: "bin/sh" where bin is a link to usr/bin. Links are resolved as if root
// were "/". All operations use os.Root, which prevents access outside the folder even if the resolution is wrong.
type layer struct {
	root   *os.Root
	limits *Limits
	made   map[string]bool // entries of this layer and their parents: whiteouts do not apply to them
}

func newLayer(root *os.Root, limits *Limits) *layer {
	return &layer{root, limits, map[string]bool{".": true}}
}

func (l *layer) unpack(r *tar.Reader) error {
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if l.limits.Entries--; l.limits.Entries < 0 {
			return errors.New("the image exceeds the limit of files")
		}
		if err := l.entry(h, r); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

func (l *layer) entry(h *tar.Header, body io.Reader) error {
	name, err := l.place(h.Name)
	if err != nil || name == "." {
		return err // the root entry: the container root is a separate folder
	}
	switch base := path.Base(name); {
	case base == opaqueWhiteout:
		return l.pruneBelow(path.Dir(name))
	case strings.HasPrefix(base, aufsNames):
		return nil
	case strings.HasPrefix(base, whiteout):
		gone := strings.TrimPrefix(base, whiteout)
		if gone == "" || gone == "." || gone == ".." {
			return errors.New("whiteout without a file name")
		}
		return l.prune(path.Join(path.Dir(name), gone))
	}
	if err := l.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	if err := l.make(name, h, body); err != nil {
		return err
	}
	for ; !l.made[name]; name = path.Dir(name) {
		l.made[name] = true
	}
	return nil
}

// make creates an entry. A folder is merged with an existing folder; other entries replace existing ones.
func (l *layer) make(name string, h *tar.Header, body io.Reader) error {
	old, err := l.root.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if exists := err == nil; exists && (h.Typeflag != tar.TypeDir || !old.IsDir()) {
		if err := l.root.RemoveAll(name); err != nil {
			return err
		}
	}
	switch h.Typeflag {
	case tar.TypeDir:
		if err := l.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	case tar.TypeReg:
		if err := l.file(name, body); err != nil {
			return err
		}
	case tar.TypeSymlink:
		if err := l.root.Symlink(h.Linkname, name); err != nil {
			return err
		}
	case tar.TypeLink:
		target, err := l.place(h.Linkname)
		if err != nil {
			return fmt.Errorf("hard link to %q: %w", h.Linkname, err)
		}
		return l.root.Link(target, name)
	default:
		return nil // devices and pipes: containers have their own /dev
	}
	return l.attributes(name, h)
}

func (l *layer) file(name string, body io.Reader) error {
	out, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	if _, err := io.Copy(out, body); err != nil {
		return err
	}
	return out.Close()
}

func (l *layer) attributes(name string, h *tar.Header) error {
	// EINVAL: the ID is not mapped in the user namespace. Only root may change owners.
	err := l.root.Lchown(name, h.Uid, h.Gid)
	if err != nil && !errors.Is(err, unix.EINVAL) && os.Geteuid() == 0 {
		return err
	}
	if h.Typeflag == tar.TypeSymlink {
		return nil
	}
	mode := h.FileInfo().Mode()
	if err := l.root.Chmod(name, mode.Perm()|mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)); err != nil {
		return err
	}
	return l.root.Chtimes(name, h.ModTime, h.ModTime)
}

// prune removes an entry of lower layers.
func (l *layer) prune(name string) error {
	if !l.made[name] {
		return l.root.RemoveAll(name)
	}
	info, err := l.root.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	return l.pruneBelow(name)
}

func (l *layer) pruneBelow(folder string) error {
	dir, err := l.root.Open(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	names, err := dir.Readdirnames(-1)
	dir.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := l.prune(path.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

const maxLinks = 40 // per path, as in Linux

// place resolves a name of a layer to a path in the folder. Links in parent folders are resolved, a link at the end
// is not.
func (l *layer) place(name string) (string, error) {
	if strings.Contains("/"+name+"/", "/../") {
		return "", errors.New("names with .. are not allowed")
	}
	name = path.Clean("/" + name)[1:]
	if name == "" {
		return ".", nil
	}
	at, rest, links := ".", strings.Split(name, "/"), 0
	for len(rest) > 1 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		target, err := l.root.Readlink(next)
		if err != nil { // not a link, or does not exist
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links")
		}
		if strings.HasPrefix(target, "/") {
			at = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return path.Join(at, rest[0]), nil
}
