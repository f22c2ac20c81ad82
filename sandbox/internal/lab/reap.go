package lab

import (
	"os"
	"os/signal"
	"unsafe"

	"golang.org/x/sys/unix"
)

// reap reaps orphans, which the first process of a PID namespace inherits. Registered children are left to their
// waiters.
func (in *inside) reap() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGCHLD)
	for range signals {
		for in.reapOne() {
		}
	}
}

func (in *inside) reapOne() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil {
		return false
	}
	// siginfo_t of SIGCHLD: three ints, padding to the pointer size, then the pid.
	pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), 16)))
	if pid == 0 || in.waited[pid] {
		return false
	}
	_, err = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return err == nil
}
