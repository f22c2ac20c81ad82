package jail

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// buildRoot creates the root of the container in a new mount namespace and changes to it.
//
// The root is a tmpfs with one overlay per top-level folder of the lower root. A single overlay over "/" does not
// work in a user namespace, because a lower layer must not have locked mounts below it.
func buildRoot(s *Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	root := filepath.Join(s.InWork, "root")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("root: %w", err)
	}
	if err := lowerDirs(s, root); err != nil {
		return err
	}
	for dir, mode := range map[string]os.FileMode{
		"proc": 0o555, "sys": 0o555, "dev": 0o755, "run": 0o755, "tmp": 0o777 | os.ModeSticky,
	} {
		path := filepath.Join(root, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil {
			return err
		}
	}
	// /var/tmp may be a link; /var/run usually is a link to /run.
	sort.SliceStable(s.Mounts, func(i, j int) bool { return depth(s.Mounts[i].Target) < depth(s.Mounts[j].Target) })
	targets, err := mountPoints(s, root)
	if err != nil {
		return err
	}
	if s.ReadOnly {
		attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
		if err := unix.MountSetattr(-1, root, unix.AT_RECURSIVE, &attr); err != nil {
			return fmt.Errorf("readOnlyRootFilesystem: %w", err)
		}
	}
	if err := kernelMounts(s, root); err != nil {
		return err
	}
	for i, m := range s.Mounts {
		if targets[i] == "" { // below another mount or in /dev: the parent is mounted only now
			if targets[i], err = mountPoint(root, m); err != nil {
				return err
			}
		}
		if err := bind(m.Source, targets[i], m.ReadOnly); err != nil {
			return fmt.Errorf("mounting %s: %w", m.Target, err)
		}
	}
	for _, dir := range s.Hidden {
		if path, err := within(root, dir); err == nil && s.InRoot == "" {
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				continue
			}
			if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY, "size=4k,mode=700"); err != nil {
				return fmt.Errorf("hiding %s: %w", dir, err)
			}
		}
	}
	return changeRoot(root)
}

func depth(path string) int { return strings.Count(filepath.Clean(path), "/") }

// replaced are the top-level folders that are replaced or omitted in a container.
var replaced = []string{"proc", "sys", "dev", "tmp", "run", "boot", "lost+found"}

// lowerDirs adds the top-level entries of the lower root: links are copied, files bound, and folders mounted as
// overlays whose changes are kept in memory.
func lowerDirs(s *Spec, root string) error {
	lower := s.InRoot
	if lower == "" {
		lower = "/"
	}
	entries, err := os.ReadDir(lower)
	if err != nil {
		return fmt.Errorf("root %s: %w", lower, err)
	}
	for _, e := range entries {
		name := e.Name()
		from, to := filepath.Join(lower, name), filepath.Join(root, name)
		switch {
		case slices.Contains(replaced, name):
			continue
		case e.Type()&os.ModeSymlink != 0:
			target, err := os.Readlink(from)
			if err != nil {
				return err
			}
			if err := os.Symlink(target, to); err != nil {
				return err
			}
		case e.IsDir():
			if err := overlay(s, from, to, name); err != nil {
				return err
			}
		case e.Type().IsRegular():
			if err := touch(to); err != nil {
				return err
			}
			if err := bind(from, to, true); err != nil {
				return fmt.Errorf("%s: %w", from, err)
			}
		}
	}
	return nil
}

func overlay(s *Spec, from, to, name string) error {
	up, work := filepath.Join(s.InWork, "up", name), filepath.Join(s.InWork, "work", name)
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	for _, d := range []string{up, work, to} {
		if err := os.MkdirAll(d, info.Mode().Perm()); err != nil {
			return err
		}
	}
	if s.InRoot != "" {
		// The merged folder has the attributes of the upper one. Folders of this machine remain writable by root
		// only.
		if err := copyAttributes(up, info); err != nil {
			return err
		}
	}
	options := "lowerdir=" + escape(from) + ",upperdir=" + escape(up) + ",workdir=" + escape(work)
	if s.UserXattr {
		options += ",userxattr"
	}
	if err := unix.Mount("overlay", to, "overlay", 0, options); err == nil {
		return nil
	}
	// Overlay not possible (locked mounts, or a file system that cannot be a lower layer): bind it read-only.
	if err := bind(from, to, true); err != nil {
		return fmt.Errorf("mounting %s: %w", from, err)
	}
	return nil
}

// copyAttributes copies the permissions and the owner of a folder.
func copyAttributes(dir string, of os.FileInfo) error {
	if st, ok := of.Sys().(*syscall.Stat_t); ok {
		_ = os.Chown(dir, int(st.Uid), int(st.Gid)) // root remains the owner if the user namespace does not map the ID
	}
	return os.Chmod(dir, of.Mode().Perm()|of.Mode()&(os.ModeSetuid|os.ModeSetgid|os.ModeSticky))
}

func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// changeRoot makes root the root of the mount namespace and unmounts the old one.
func changeRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old root: %w", err)
	}
	return os.Chdir("/")
}
