package netns

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// routerLinkLocal is the IPv6 router address of every Pod. Neighbor discovery responds only for addresses of the
// link, so every link has it.
var routerLinkLocal = netip.MustParseAddr("fe80::1")

var defaultRoutes = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}

// JoinNode connects the lab (the namespace of the caller) with a node and routes the Pod addresses of the cluster to
// it. Service addresses have no route in the lab: each node translates those of its own cluster.
func JoinNode(node *os.File, c plan.Cluster) error {
	lab, err := handleAt(nil)
	if err != nil {
		return err
	}
	defer lab.Close()
	inside, err := handleAt(node)
	if err != nil {
		return err
	}
	defer inside.Close()
	near, far, err := veth(lab, inside, node, c.Name, "eth0")
	if err != nil {
		return fmt.Errorf("link to %s: %w", c.NodeName(), err)
	}
	for _, a := range []netip.Prefix{netip.PrefixFrom(c.Router4, 24), netip.PrefixFrom(c.Router6, 64)} {
		if err := address(lab, near, a); err != nil {
			return err
		}
	}
	for _, a := range []netip.Prefix{netip.PrefixFrom(c.Node4, 24), netip.PrefixFrom(c.Node6, 64)} {
		if err := address(inside, far, a); err != nil {
			return err
		}
	}
	lo, err := inside.LinkByName("lo")
	if err != nil {
		return err
	}
	// On the loopback device: the kernel answers ARP on every link for all of its addresses.
	if err := address(inside, lo, host(c.Gateway4())); err != nil {
		return err
	}
	for _, r := range []struct {
		to  netip.Prefix
		via netip.Addr
	}{{c.Pods4, c.Node4}, {c.Pods6, c.Node6}} {
		if err := route(lab, near, r.to, r.via); err != nil {
			return err
		}
	}
	for i, via := range []netip.Addr{c.Router4, c.Router6} {
		if err := route(inside, far, defaultRoutes[i], via); err != nil {
			return err
		}
	}
	return nil
}

// JoinPod connects a Pod with the node (the namespace of the caller). The device in the node is called name, at most
// 15 characters; it is deleted with the namespace of the Pod.
func JoinPod(pod *os.File, name string, c plan.Cluster, v4, v6 netip.Addr) error {
	node, err := handleAt(nil)
	if err != nil {
		return err
	}
	defer node.Close()
	inside, err := handleAt(pod)
	if err != nil {
		return err
	}
	defer inside.Close()
	near, far, err := veth(node, inside, pod, name, "eth0")
	if err != nil {
		return fmt.Errorf("Pod link: %w", err)
	}
	if err := address(node, near, netip.PrefixFrom(routerLinkLocal, 64)); err != nil {
		return err
	}
	for _, a := range []netip.Addr{v4, v6} {
		if err := address(inside, far, host(a)); err != nil {
			return err
		}
		if err := route(node, near, host(a), netip.Addr{}); err != nil {
			return err
		}
	}
	for i, via := range []netip.Addr{c.Gateway4(), routerLinkLocal} {
		if err := route(inside, far, defaultRoutes[i], via); err != nil {
			return err
		}
	}
	return nil
}

// Unlink deletes the device of a Pod in the node, and thereby its peer.
func Unlink(name string) error {
	link, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkDel(link)
}

func veth(h, peerHandle *netlink.Handle, peerNS *os.File, name, peer string) (near, far netlink.Link, err error) {
	attrs := netlink.NewLinkAttrs()
	attrs.Name = name
	v := &netlink.Veth{LinkAttrs: attrs, PeerName: peer, PeerNamespace: netlink.NsFd(peerNS.Fd())}
	if err := h.LinkAdd(v); err != nil {
		return nil, nil, fmt.Errorf("veth %s: %w", name, err)
	}
	for _, end := range []struct {
		h    *netlink.Handle
		name string
		to   *netlink.Link
	}{{h, name, &near}, {peerHandle, peer, &far}} {
		if *end.to, err = end.h.LinkByName(end.name); err != nil {
			return nil, nil, fmt.Errorf("veth %s: %w", end.name, err)
		}
		if err := end.h.LinkSetUp(*end.to); err != nil {
			return nil, nil, fmt.Errorf("veth %s up: %w", end.name, err)
		}
	}
	return near, far, nil
}
