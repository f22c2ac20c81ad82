package observe

import (
	"errors"
	"fmt"
	"net/http"
	"unsafe"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sidecar"
)

// envWithoutIPv6 makes the pod one on a kernel without IPv6, in a mesh that allows for such kernels: IPv6 sockets get
// the error of such a kernel.
const envWithoutIPv6 = "ANYMESH_CONFORMANCE_WITHOUT_IPV6"

// refuseIPv6 makes socket(AF_INET6, …) of all threads of this process and of its children fail with EAFNOSUPPORT.
func refuseIPv6() error {
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: unix.SYS_SOCKET},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: firstArgument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: unix.AF_INET6},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&program))); errno != 0 { //nolint:gosec // the kernel reads the filter
		return fmt.Errorf("seccomp: %w", errno)
	}
	if fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EAFNOSUPPORT) {
		return fmt.Errorf("an IPv6 socket has descriptor %d and error %w", fd, err)
	}
	return nil
}

// rendererFor returns the renderer that the driver sets for the settings of a mesh.
func rendererFor(driver sidecar.Driver, settings sidecar.Settings) (out sidecar.Renderer, err error) {
	_, err = driver.Start(&sidecar.ControllerContext{
		Configurator: &sidecar.MeshConfig{Sidecar: settings}, DebugHandlers: map[string]http.Handler{},
		Deliver: func(r sidecar.Renderer) { out = r },
	})
	return out, err
}
