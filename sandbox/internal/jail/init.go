package jail

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// File descriptors from the parent, in addition to those in the Spec.
const (
	specFD = 3
	failFD = 4
)

// FailStatus is the exit status of a process that failed to become a container.
const FailStatus = 70

func init() {
	if len(os.Args) == 0 || os.Args[0] != Argv0 {
		return
	}
	runtime.LockOSThread()
	fail := os.NewFile(failFD, "fail")
	unix.CloseOnExec(failFD)
	err := runContainer()
	fmt.Fprint(fail, err)
	os.Exit(FailStatus)
}

// runContainer replaces the process with the program of the container. It returns only on failure.
func runContainer() error {
	f := os.NewFile(specFD, "spec")
	var s Spec
	if err := json.NewDecoder(f).Decode(&s); err != nil {
		return fmt.Errorf("reading the container spec: %w", err)
	}
	f.Close()
	if len(s.Argv) == 0 {
		return errors.New("no command")
	}
	if s.TTY {
		if _, err := unix.Setsid(); err != nil {
			return fmt.Errorf("setsid: %w", err)
		}
		if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
			return fmt.Errorf("controlling terminal: %w", err)
		}
	}
	for _, fd := range s.Namespaces {
		if err := unix.Setns(fd, 0); err != nil {
			return fmt.Errorf("joining a namespace of the Pod: %w", err)
		}
		unix.Close(fd)
	}
	if s.Enter != nil {
		if err := enter(s.Enter.MountFD); err != nil {
			return err
		}
	} else if err := buildRoot(&s); err != nil {
		return err
	}
	if err := workDir(s.Dir); err != nil {
		return err
	}
	if err := dropPrivileges(&s); err != nil {
		return err
	}
	path, err := lookPath(s.Argv[0], s.Env)
	if err != nil {
		return err
	}
	return fmt.Errorf("exec %s: %w", path, syscall.Exec(path, s.Argv, s.Env))
}

func enter(fd int) error {
	// A thread may change its mount namespace only if it does not share its root and working directory.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Setns(fd, unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("joining the container's mount namespace: %w", err)
	}
	unix.Close(fd)
	return nil
}

func workDir(dir string) error {
	if dir == "" {
		dir = "/"
	}
	if err := os.MkdirAll(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("working directory: %w", err)
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	return nil
}

// lookPath finds a program like execvp(3), in the PATH of the container.
func lookPath(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		file := dir + "/" + name
		if info, err := os.Stat(file); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("exec: %q: executable file not found in $PATH", name)
}
