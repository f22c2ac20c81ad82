// Package netns creates network namespaces and connects them.
//
// In: addresses and routes of a plan. Out: namespaces that are referenced only by file descriptors, so that they end
// with the processes that hold them. Nothing is created outside the namespace of the lab.
package netns

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"

	"github.com/vishvananda/netlink"
	vns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Set is a group of namespaces, referenced by open descriptors. UTS and IPC are nil for a node.
type Set struct{ Net, UTS, IPC *os.File }

// Close closes the descriptors.
func (s *Set) Close() {
	for _, f := range []*os.File{s.Net, s.UTS, s.IPC} {
		if f != nil {
			f.Close()
		}
	}
}

// NewNode creates a network namespace with an active loopback device and IP forwarding.
func NewNode() (*Set, error) {
	return create(unix.CLONE_NEWNET, func() error { return sysctls(forwarding) })
}

// NewPod creates network, UTS and IPC namespaces with the given host name and net.* settings.
func NewPod(hostname string, settings map[string]string) (*Set, error) {
	return create(unix.CLONE_NEWNET|unix.CLONE_NEWUTS|unix.CLONE_NEWIPC, func() error {
		if err := unix.Sethostname([]byte(hostname)); err != nil {
			return fmt.Errorf("host name %q: %w", hostname, err)
		}
		if err := sysctls(podDefaults); err != nil {
			return err
		}
		return sysctls(settings)
	})
}

// create uses a locked thread, which ends with the goroutine.
func create(flags int, setUp func() error) (*Set, error) {
	type result struct {
		set *Set
		err error
	}
	done := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		set := &Set{}
		err := func() error {
			if err := unix.Unshare(flags); err != nil {
				return fmt.Errorf("new namespace: %w", err)
			}
			for _, n := range []struct {
				flag int
				name string
				to   **os.File
			}{{unix.CLONE_NEWNET, "net", &set.Net}, {unix.CLONE_NEWUTS, "uts", &set.UTS}, {unix.CLONE_NEWIPC, "ipc", &set.IPC}} {
				if flags&n.flag == 0 {
					continue
				}
				f, err := os.Open("/proc/thread-self/ns/" + n.name)
				if err != nil {
					return err
				}
				*n.to = f
			}
			if err := Loopback(); err != nil {
				return err
			}
			return setUp()
		}()
		if err != nil {
			set.Close()
			set = nil
		}
		done <- result{set, err}
	}()
	r := <-done
	return r.set, r.err
}

// Loopback activates the loopback device in the namespace of the calling thread.
func Loopback() error {
	h, err := netlink.NewHandle()
	if err != nil {
		return fmt.Errorf("loopback: %w", err)
	}
	defer h.Close()
	return up(h, "lo")
}

func up(h *netlink.Handle, name string) error {
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("device %s: %w", name, err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return fmt.Errorf("device %s up: %w", name, err)
	}
	return nil
}

// Do runs f on a thread in ns and waits.
func Do(ns *os.File, f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("joining a network namespace: %w", err)
			return
		}
		done <- f()
	}()
	return <-done
}

func handleAt(ns *os.File) (*netlink.Handle, error) {
	if ns == nil {
		return netlink.NewHandle()
	}
	return netlink.NewHandleAt(vns.NsHandle(ns.Fd()))
}

// address adds an address without IPv6 duplicate address detection, which would take a second.
func address(h *netlink.Handle, link netlink.Link, p netip.Prefix) error {
	a := &netlink.Addr{IPNet: ipNet(p)}
	if p.Addr().Is6() {
		a.Flags = unix.IFA_F_NODAD
	}
	if err := h.AddrAdd(link, a); err != nil {
		return fmt.Errorf("address %s on %s: %w", p, link.Attrs().Name, err)
	}
	return nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func host(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func route(h *netlink.Handle, link netlink.Link, to netip.Prefix, via netip.Addr) error {
	r := &netlink.Route{LinkIndex: link.Attrs().Index, Dst: ipNet(to)}
	if via.IsValid() {
		r.Gw = via.AsSlice()
		r.Flags = int(netlink.FLAG_ONLINK)
	} else if to.Addr().Is4() {
		r.Scope = netlink.SCOPE_LINK
	}
	if err := h.RouteReplace(r); err != nil {
		return fmt.Errorf("route %s via %s: %w", to, via, err)
	}
	return nil
}
