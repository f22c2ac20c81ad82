package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/sidecar"
)

// bridgeAddress is the address of the bridge between the pods, and of the control plane.
const bridgeAddress = "10.1.0.1"

// podNetwork is the network namespace of a pod. Sockets and processes that are created in it stay in it.
type podNetwork struct{ file *os.File }

// inside runs f on a thread in the namespace.
func (n *podNetwork) inside(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Setns(int(n.file.Fd()), unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

func (n *podNetwork) dial(ctx context.Context, address string) (conn net.Conn, err error) {
	err = n.inside(func() error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", address)
		return err
	})
	return conn, err
}

// createBridge creates the bridge in the namespace of this process, which has the addresses of all pods of services.
func createBridge() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}
	address, err := netlink.ParseAddr(bridgeAddress + "/16")
	if err != nil {
		return err
	}
	pods, err := netlink.ParseIPNet("10.2.0.0/15")
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return netlink.LinkSetUp(lo) },
		func() error { return netlink.LinkAdd(bridge) },
		func() error { return netlink.AddrAdd(bridge, address) },
		func() error { return netlink.LinkSetUp(bridge) },
		func() error {
			return netlink.RouteAdd(&netlink.Route{
				LinkIndex: lo.Attrs().Index, Dst: pods, Type: unix.RTN_LOCAL, Table: unix.RT_TABLE_LOCAL,
				Scope: unix.RT_SCOPE_HOST,
			})
		},
	} {
		if err := step(); err != nil {
			return fmt.Errorf("bridge: %w", err)
		}
	}
	return nil
}

// createPod creates the network namespace of a pod, connected with the bridge, and its packet rules.
func createPod(i int) (*podNetwork, error) {
	n := &podNetwork{}
	made := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open("/proc/thread-self/ns/net")
		}
		made <- err
	}()
	if err := <-made; err != nil {
		return nil, fmt.Errorf("network namespace: %w", err)
	}
	name := fmt.Sprintf("pod%d", i)
	bridge, err := netlink.LinkByName("br0")
	if err != nil {
		return nil, err
	}
	link := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: name, MasterIndex: bridge.Attrs().Index}, PeerName: "eth0",
		PeerNamespace: netlink.NsFd(n.file.Fd()),
	}
	if err := netlink.LinkAdd(link); err != nil {
		return nil, fmt.Errorf("link of %s: %w", name, err)
	}
	if err := netlink.LinkSetUp(link); err != nil {
		return nil, fmt.Errorf("link of %s: %w", name, err)
	}
	return n, n.inside(func() error { return configurePod(fmt.Sprintf("10.1.1.%d/16", i+1)) })
}

// configurePod sets up the devices and the packet rules of the current namespace.
func configurePod(address string) error {
	addr, err := netlink.ParseAddr(address)
	if err != nil {
		return err
	}
	for _, device := range []string{"lo", "eth0"} {
		link, err := netlink.LinkByName(device)
		if err != nil {
			return err
		}
		if device == "eth0" {
			if err := netlink.AddrAdd(link, addr); err != nil {
				return err
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
	}
	if err := netlink.RouteAdd(&netlink.Route{Dst: defaultRoute, Gw: net.ParseIP(bridgeAddress)}); err != nil {
		return err
	}
	env := map[string]string{
		capture.EnvEnabled: "1", capture.EnvUID: strconv.Itoa(sidecar.UID),
		capture.EnvIngressPort: strconv.Itoa(sidecar.InboundPort),
		capture.EnvEgressPort:  strconv.Itoa(sidecar.OutboundPort),
	}
	c, err := capture.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return err
	}
	return capture.Apply(c.Rules())
}

var defaultRoute = &net.IPNet{IP: net.IPv4zero, Mask: net.CIDRMask(0, 32)}
