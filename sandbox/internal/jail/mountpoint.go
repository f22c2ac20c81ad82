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

// mountPoints creates the mount points of all mounts while the root is writable. Mount points in /dev, /proc and /sys
// and below other mounts are returned empty: they are created after their parent is mounted.
func mountPoints(s *Spec, root string) ([]string, error) {
	out := make([]string, len(s.Mounts))
	for i, m := range s.Mounts {
		if belowOther(s.Mounts[:i], m.Target) {
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

func belowOther(before []Mount, target string) bool {
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

// mountPoint creates the file or folder on which m is mounted and returns its path outside the container.
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
			return errors.New("source and target must both be files or both be folders")
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
	// The parent is a read-only view of the host. Replace the deepest existing folder with a tmpfs folder with the
	// same contents.
	for parent = filepath.Dir(path); ; parent = filepath.Dir(parent) {
		if info, err := os.Stat(parent); err == nil && info.IsDir() {
			break
		}
	}
	if parent == root {
		return err
	}
	if err := mountWritable(parent); err != nil {
		return err
	}
	return makeMountPoint(root, path, dir)
}

// mountWritable mounts a tmpfs over dir and binds the entries of dir into it.
func mountWritable(dir string) error {
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
		// Entries that cannot be bound are not accessible either.
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

// bind mounts source on target. Read-only requires a remount that repeats the inherited flags.
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

// within resolves path inside root as if root were "/": links cannot leave the root. Missing parts are kept.
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
