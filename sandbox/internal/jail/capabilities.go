package jail

import (
	"fmt"
	"slices"
	"strings"
)

// names lists all capabilities by number, without the prefix CAP_ (linux/capability.h).
var names = []string{
	"CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID", "SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE", "NET_BROADCAST", "NET_ADMIN", "NET_RAW", "IPC_LOCK", "IPC_OWNER", "SYS_MODULE", "SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE", "SYS_PACCT", "SYS_ADMIN", "SYS_BOOT", "SYS_NICE", "SYS_RESOURCE", "SYS_TIME", "SYS_TTY_CONFIG",
	"MKNOD", "LEASE",
	"AUDIT_WRITE", "AUDIT_CONTROL", "SETFCAP", "MAC_OVERRIDE", "MAC_ADMIN", "SYSLOG", "WAKE_ALARM", "BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON", "BPF", "CHECKPOINT_RESTORE",
}

// containerDefaults is the default set of containerd and Docker.
var containerDefaults = []string{
	"CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP", "SETPCAP",
	"NET_BIND_SERVICE",
	"SYS_CHROOT", "KILL", "AUDIT_WRITE",
}

// Capabilities returns the capability numbers of a container: the default set, plus add, minus drop; "ALL" is every
// capability. As in containerd, add takes precedence over drop ALL. Names may have the prefix CAP_ and any case.
// Unknown names are an error.
func Capabilities(add, drop []string, privileged bool) ([]uint, error) {
	set := map[uint]bool{}
	put := func(list []string, on bool) error {
		for _, n := range list {
			n = strings.TrimPrefix(strings.ToUpper(n), "CAP_")
			i := slices.Index(names, n)
			switch {
			case n == "ALL":
				for i := range names {
					set[uint(i)] = on
				}
			case i < 0:
				return fmt.Errorf("unknown capability %q", n)
			default:
				set[uint(i)] = on
			}
		}
		return nil
	}
	if privileged {
		if err := put([]string{"ALL"}, true); err != nil {
			return nil, err
		}
	} else {
		all := func(s string) bool { return strings.EqualFold(s, "ALL") }
		steps := []struct {
			list []string
			on   bool
		}{
			{containerDefaults, true},
			{filter(add, all), true}, {filter(drop, all), false},
			{without(add, all), true}, {without(drop, all), false},
		}
		for _, s := range steps {
			if err := put(s.list, s.on); err != nil {
				return nil, err
			}
		}
	}
	var out []uint
	for i := range names {
		if set[uint(i)] {
			out = append(out, uint(i))
		}
	}
	return out, nil
}

func filter(list []string, keep func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return !keep(s) })
}

func without(list []string, drop func(string) bool) []string {
	return slices.DeleteFunc(slices.Clone(list), drop)
}
