package observe

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Addresses of the pod and of the external network on the link between them, and the network of the destinations,
// which are in the network namespace of the pod.
const (
	podAddress      = "10.0.0.2"
	externalAddress = "10.0.0.1"
	destinations    = "10.200.0.0/16"
)

// netns is a network namespace. Sockets that are created in it stay in it.
type netns struct{ file *os.File }

// newNetns creates a network namespace with a loopback device.
func newNetns() (*netns, error) {
	s := &netns{}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			s.file, err = os.Open("/proc/thread-self/ns/net")
		}
		if err == nil {
			err = up("lo")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	return s, nil
}

// dial connects from the namespace, or from that of this process if it is nil.
func (s *netns) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	var d net.Dialer
	if s == nil {
		return d.DialContext(ctx, network, address)
	}
	err = s.do(func() error {
		conn, err = d.DialContext(ctx, network, address)
		return err
	})
	return conn, err
}

// do runs f on a thread inside the namespace.
func (s *netns) do(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.Setns(int(s.file.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// connectNetworks connects the network namespace of this process, the pod, with a new one, the external network,
// which has all addresses that cases dial.
func connectNetworks() (external *netns, err error) {
	if external, err = newNetns(); err != nil {
		return nil, err
	}
	steps := []func() error{
		func() error { return up("lo") },
		func() error {
			return netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "eth0"}, PeerName: "eth1"})
		},
		func() error {
			peer, err := netlink.LinkByName("eth1")
			if err != nil {
				return err
			}
			return netlink.LinkSetNsFd(peer, int(external.file.Fd()))
		},
		func() error { return up("eth0", podAddress+"/24") },
		func() error { return addLocalRoute(destinations) },
		func() error {
			return netlink.RouteAdd(&netlink.Route{Dst: defaultRoute, Gw: net.ParseIP(externalAddress)})
		},
		func() error {
			return external.do(func() error {
				if err := up("eth1", externalAddress+"/24"); err != nil {
					return err
				}
				return addLocalRoute(hostNetwork.String())
			})
		},
		func() error { return running("eth0") },
		func() error { return external.do(func() error { return running("eth1") }) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, fmt.Errorf("network: %w", err)
		}
	}
	return external, nil
}

var defaultRoute = &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}

func up(device string, addresses ...string) error {
	link, err := netlink.LinkByName(device)
	if err != nil {
		return err
	}
	for _, text := range addresses {
		addr, err := netlink.ParseAddr(text)
		if err != nil {
			return err
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return netlink.LinkSetUp(link)
}

// running waits until a device forwards packets. The kernel begins with that some time after the device is up, and
// drops packets before; a connection then needs a second for its next attempt.
func running(device string) error {
	for limit := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		link, err := netlink.LinkByName(device)
		if err != nil || link.Attrs().OperState == netlink.OperUp {
			return err
		}
		if time.Now().After(limit) {
			return fmt.Errorf("%s is not running: %s", device, link.Attrs().OperState)
		}
	}
}

// addLocalRoute makes every address of a network local.
func addLocalRoute(network string) error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	dst, err := netlink.ParseIPNet(network)
	if err != nil {
		return err
	}
	return netlink.RouteAdd(&netlink.Route{
		LinkIndex: lo.Attrs().Index, Dst: dst, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL,
		Scope: unix.RT_SCOPE_HOST,
	})
}
