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

// Names that say that something of the layers below is gone
// (https://github.com/opencontainers/image-spec/blob/main/layer.md#whiteouts).
const (
	whiteout       = ".wh."
	opaqueWhiteout = ".wh..wh..opq" // all that the folder has from below
	aufsNames      = ".wh..wh."     // others are of no meaning to us
)

// layer is one layer that is being unpacked.
//
// Names in a layer may go through links that the image has: "bin/sh" where bin is a link to usr/bin. Such links are
// followed here, as if root were "/". What is then done goes through os.Root, which lets nothing out of the folder even
// if that were wrong.
type layer struct {
	root   *os.Root
	limits *Limits
	made   map[string]bool // by this layer, with the folders above: whiteouts do not concern it
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
			return errors.New("the image has more files than are allowed")
		}
		if err := l.entry(h, r); err != nil {
			return fmt.Errorf("%q: %w", h.Name, err)
		}
	}
}

func (l *layer) entry(h *tar.Header, body io.Reader) error {
	name, err := l.place(h.Name)
	if err != nil || name == "." {
		return err // the root's own entry: the container's root is a folder of its own
	}
	switch base := path.Base(name); {
	case base == opaqueWhiteout:
		return l.pruneBelow(path.Dir(name))
	case strings.HasPrefix(base, aufsNames):
		return nil
	case strings.HasPrefix(base, whiteout):
		gone := strings.TrimPrefix(base, whiteout)
		if gone == "" || gone == "." || gone == ".." {
			return errors.New("a whiteout of no file")
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

// make puts one entry in its place. A folder joins a folder that is there; all else replaces what is there.
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
		return nil // a device, a pipe: containers get their own /dev
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
	// EINVAL: the user namespace has no such id. Whoever is not root may give nothing away.
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

// prune removes what is there of the layers below.
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

const maxLinks = 40 // on the way to one file, as in Linux

// place gives where in the folder a name of a layer is: links on the way are followed, a link at its end is not.
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
		if err != nil { // no link, or nothing there yet
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errors.New("too many links on the way")
		}
		if strings.HasPrefix(target, "/") {
			at = "."
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return path.Join(at, rest[0]), nil
}
