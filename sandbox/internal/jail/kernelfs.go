package jail

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// kernelMounts mounts /proc, /sys and a minimal /dev.
func kernelMounts(s *Spec, root string) error {
	proc := filepath.Join(root, "proc")
	if err := unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	sys := filepath.Join(root, "sys")
	flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC)
	if !s.OpenSys {
		flags |= unix.MS_RDONLY
		if err := bind(filepath.Join(proc, "sys"), filepath.Join(proc, "sys"), true); err != nil {
			return fmt.Errorf("/proc/sys: %w", err)
		}
	}
	// A new sysfs shows the network devices of the Pod. If it cannot be mounted, bind the sysfs of the host.
	if err := unix.Mount("sysfs", sys, "sysfs", flags, ""); err != nil {
		if err := bind("/sys", sys, true); err != nil {
			return fmt.Errorf("/sys: %w", err)
		}
	}
	return devices(root)
}

func devices(root string) error {
	dev := filepath.Join(root, "dev")
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID, "mode=755,size=64k"); err != nil {
		return fmt.Errorf("/dev: %w", err)
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		to := filepath.Join(dev, name)
		if err := touch(to); err != nil {
			return err
		}
		if err := bind("/dev/"+name, to, false); err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
	}
	for name, target := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
		"ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	for _, m := range []struct{ name, kind, options string }{
		{"pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"},
		{"shm", "tmpfs", "mode=1777,size=64m"},
	} {
		to := filepath.Join(dev, m.name)
		if err := os.Mkdir(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, to, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("/dev/%s: %w", m.name, err)
		}
	}
	return nil
}
