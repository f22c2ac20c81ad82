package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// mountPoints makes the mount points of all mounts while the root can still be written. Those in /dev, /proc and /sys
// and those below another mount are left empty: they are made when what they lie in is there.
func mountPoints(s *Spec, root string) ([]string, error) {
	out := make([]string, len(s.Mounts))
	for i, m := range s.Mounts {
		if late(s.Mounts[:i], m.Target) {
			continue
		}
		p, err := mountPoint(root, m)
		if err != nil {
			return nil, err
		}
		out[i] = p
	}
	return out, nil
}

func late(before []Mount, target string) bool {
	for _, dir := range []string{"/dev", "/proc", "/sys"} {
		if strings.HasPrefix(target, dir+"/") {
			return true
		}
	}
	for _, m := range before {
		if strings.HasPrefix(target, strings.TrimSuffix(m.Target, "/")+"/") {
			return true
		}
	}
	return false
}

// mountPoint makes the file or folder on which m is to be bound and gives its path outside.
func mountPoint(root string, m Mount) (string, error) {
	info, err := os.Stat(m.Source)
	if err != nil {
		return "", fmt.Errorf("mounting %s: %w", m.Target, err)
	}
	path, err := within(root, m.Target)
	if err != nil {
		return "", fmt.Errorf("mounting %s: %w", m.Target, err)
	}
	if err := makeMountPoint(root, path, info.IsDir()); err != nil {
		return "", fmt.Errorf("mount point %s: %w", m.Target, err)
	}
	return path, nil
}

func makeMountPoint(root, path string, dir bool) error {
	if info, err := os.Stat(path); err == nil {
		if info.IsDir() != dir {
			return errors.New("a file cannot be mounted over a folder, nor a folder over a file")
		}
		return nil
	}
	parent := path
	if !dir {
		parent = filepath.Dir(path)
	}
	err := os.MkdirAll(parent, 0o755)
	if err == nil && !dir {
		err = touch(path)
	}
	if !errors.Is(err, unix.EROFS) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	// The place is a read-only view of the host. Replace the deepest folder that exists by a memory folder with the
	// same contents.
	for parent = filepath.Dir(path); ; parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			break
		}
	}
	if parent == root {
		return err
	}
	if err := thaw(parent); err != nil {
		return err
	}
	return makeMountPoint(root, path, dir)
}

// thaw mounts a memory file system over dir and binds dir's entries into it.
func thaw(dir string) error {
	old, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(old)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=755"); err != nil {
		return err
	}
	for _, e := range entries {
		from, to := fmt.Sprintf("/proc/self/fd/%d/%s", old, e.Name()), filepath.Join(dir, e.Name())
		switch {
		case e.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			err = os.Symlink(target, to)
			if err != nil {
				return err
			}
			continue
		case e.IsDir():
			err = os.Mkdir(to, 0o755)
		default:
			err = touch(to)
		}
		if err != nil {
			return err
		}
		// What we may not bind we may not see either.
		_ = bind(from, to, true)
	}
	return nil
}

func touch(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// bind mounts source on target. Read-only needs a second step that must repeat the flags which the first inherited.
func bind(source, target string, readOnly bool) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	if !readOnly {
		return nil
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	return unix.MountSetattr(-1, target, unix.AT_RECURSIVE, &attr)
}

// within resolves path inside root as if root were "/": links never lead out of it. Missing parts are kept as they are.
func within(root, path string) (string, error) {
	const maxLinks = 40
	rest := strings.Split(filepath.Clean("/"+path), "/")
	at, links := "", 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir("/" + at)[1:]
			continue
		}
		next := filepath.Join(at, part)
		target, err := os.Readlink(filepath.Join(root, next))
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("too many links in %s", path)
		}
		if strings.HasPrefix(target, "/") {
			at = ""
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return filepath.Join(root, at), nil
}
