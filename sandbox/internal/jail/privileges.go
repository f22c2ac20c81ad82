package jail

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

const lastCapability = 63

// dropPrivileges drops privileges in the order that the kernel requires: the bounding set, then groups and user, then
// the capability sets of the process.
func dropPrivileges(s *Spec) error {
	keep := func(set []uint) (lo, hi uint32) {
		for _, c := range set {
			if c < 32 {
				lo |= 1 << c
			} else {
				hi |= 1 << (c - 32)
			}
		}
		return lo, hi
	}
	lo, hi := keep(s.Capabilities)
	for c := uint(0); c <= lastCapability; c++ {
		if c < 32 && lo&(1<<c) != 0 || c >= 32 && hi&(1<<(c-32)) != 0 {
			continue
		}
		// EINVAL: the kernel does not know the capability, so all existing ones are done.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); errors.Is(err, unix.EINVAL) {
			break
		} else if err != nil {
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	if len(s.Ambient) > 0 {
		if err := unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("keeping capabilities: %w", err)
		}
	}
	// A user namespace with a single ID refuses setgroups(2), which does not matter without groups.
	if err := unix.Setgroups(s.Groups); err != nil && (len(s.Groups) > 0 || !errors.Is(err, unix.EPERM)) {
		return fmt.Errorf("supplemental groups %v: %w", s.Groups, idRange(err))
	}
	if err := unix.Setresgid(s.GID, s.GID, s.GID); err != nil {
		return fmt.Errorf("runAsGroup %d: %w", s.GID, idRange(err))
	}
	if err := unix.Setresuid(s.UID, s.UID, s.UID); err != nil {
		return fmt.Errorf("runAsUser %d: %w", s.UID, idRange(err))
	}
	ambientLo, ambientHi := keep(s.Ambient)
	if s.UID != 0 {
		lo, hi = ambientLo, ambientHi
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var have [2]unix.CapUserData
	if err := unix.Capget(&header, &have[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	lo, hi = lo&have[0].Permitted, hi&have[1].Permitted
	data := [2]unix.CapUserData{
		{Effective: lo, Permitted: lo, Inheritable: ambientLo},
		{Effective: hi, Permitted: hi, Inheritable: ambientHi},
	}
	if err := unix.Capset(&header, &data[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	for _, c := range s.Ambient {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(c), 0, 0); err != nil {
			return fmt.Errorf("ambient capability %d: %w", c, err)
		}
	}
	if s.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("allowPrivilegeEscalation=false: %w", err)
		}
	}
	return nil
}

// idRange explains the error for IDs that are not mapped in the user namespace.
func idRange(err error) error {
	if errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("%w: this ID is not mapped; without root, a sandbox can use only the subordinate IDs in /etc/subuid and /etc/subgid (package uidmap)", err)
	}
	return err
}
