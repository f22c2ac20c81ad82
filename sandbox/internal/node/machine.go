package node

import (
	"bytes"
	"context"
	"os"
	goruntime "runtime"
	"strings"

	cadvisor "github.com/google/cadvisor/info/v1"
	cadvisor2 "github.com/google/cadvisor/info/v2"
	"golang.org/x/sys/unix"
	cadvisortest "k8s.io/kubernetes/pkg/kubelet/cadvisor/testing"
)

// machine provides machine information to the kubelet. The capacity is large, because limits are not enforced and
// requests must not prevent scheduling. The embedded fake handles container queries, for which cAdvisor would have no
// data.
type machine struct{ cadvisortest.Fake }

const (
	cores       = 64
	memoryBytes = 256 << 30
	diskBytes   = 1 << 40
)

// MachineInfo implements cadvisor.Interface.
func (*machine) MachineInfo() (*cadvisor.MachineInfo, error) {
	id, _ := os.ReadFile("/etc/machine-id")
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return &cadvisor.MachineInfo{
		NumCores: cores, MemoryCapacity: memoryBytes,
		MachineID: string(bytes.TrimSpace(id)), SystemUUID: string(bytes.TrimSpace(id)),
		BootID: string(bytes.TrimSpace(boot)),
	}, nil
}

// VersionInfo implements cadvisor.Interface.
func (*machine) VersionInfo() (*cadvisor.VersionInfo, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	return &cadvisor.VersionInfo{KernelVersion: unix.ByteSliceToString(u.Release[:]), ContainerOsVersion: osName()}, nil
}

func osName() string {
	b, _ := os.ReadFile("/etc/os-release")
	for line := range strings.Lines(string(b)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			return strings.Trim(strings.TrimSpace(name), `"`)
		}
	}
	return goruntime.GOOS
}

func disk() (cadvisor2.FsInfo, error) {
	inodes := uint64(1 << 24)
	return cadvisor2.FsInfo{Capacity: diskBytes, Available: diskBytes, Inodes: &inodes, InodesFree: &inodes}, nil
}

// ImagesFsInfo implements cadvisor.Interface.
func (*machine) ImagesFsInfo(context.Context) (cadvisor2.FsInfo, error) { return disk() }

// RootFsInfo implements cadvisor.Interface.
func (*machine) RootFsInfo() (cadvisor2.FsInfo, error) { return disk() }

// ContainerFsInfo implements cadvisor.Interface.
func (*machine) ContainerFsInfo(context.Context) (cadvisor2.FsInfo, error) { return disk() }

// GetDirFsInfo implements cadvisor.Interface.
func (*machine) GetDirFsInfo(string) (cadvisor2.FsInfo, error) { return disk() }
