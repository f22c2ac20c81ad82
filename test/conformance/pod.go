package conformance

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// pod is the surroundings of one workload's sidecar. Its namespaces are those of this process.
type pod struct {
	world *space
	view  *model.View
	index *model.Index
	lines []Line
	tally *tally
}

// enter makes this process a pod with the sidecar of a workload, and everything that the lines need around it. The
// process must have network, mount and process namespaces of its own.
func enter(ctx context.Context, binary, dir string, m Meaning, view *model.View,
	lines []Line) (*pod, *discovery, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, nil, &os.PathError{Op: "make mounts private", Path: "/", Err: err}
	}
	world, err := wire()
	if err != nil {
		return nil, nil, err
	}
	p := &pod{world: world, view: view, index: m.State.Index, lines: lines, tally: &tally{tries: map[string]int{}}}
	names, err := p.destinations(m.State.Index)
	if err != nil {
		return nil, nil, err
	}
	if err := serveNames(dir, names); err != nil {
		return nil, nil, fmt.Errorf("name server: %w", err)
	}
	if err := p.application(); err != nil {
		return nil, nil, err
	}
	if err := world.do(p.outside); err != nil {
		return nil, nil, err
	}
	if err := p.capture(); err != nil {
		return nil, nil, err
	}
	d, err := start(ctx, binary, dir, view.Workload, m.Rendered[view.Workload.Key])
	return p, d, err
}

// endpoints is how many addresses a host name has.
const endpoints = 2

// instance is who answers at the address of a pod that the case has. Which destination it is for, the address says.
const instance = "instance"

// destinations gives each host name its addresses, on all of which the destinations of that name answer, and has the
// pods that the case shows answer on theirs. It returns the names.
func (p *pod) destinations(ix *model.Index) (map[string][]netip.Addr, error) {
	names := map[string][]netip.Addr{}
	instances := map[netip.AddrPort]model.Protocol{}
	next := netip.MustParsePrefix(destinations).Addr()
	for _, d := range ix.Model.Destinations {
		if d.Discovery.Kind == model.DiscoverInstances {
			reach, _ := ix.ResolvedDestination(d.Key)
			for _, e := range reach.Endpoints {
				for _, address := range e.Addresses {
					instances[netip.AddrPortFrom(address, d.Port)] = d.Protocol
				}
			}
			continue
		}
		name := d.Discovery.Hostname + "." // without a search domain, a name without dots is absolute, too
		for len(names[name]) < endpoints {
			next = next.Next()
			names[name] = append(names[name], next)
		}
		for _, address := range names[name] {
			if err := p.listen(netip.AddrPortFrom(address, d.Port), d.Name, d.Protocol); err != nil {
				return nil, err
			}
		}
	}
	for at, protocol := range instances {
		if err := p.listen(at, instance, protocol); err != nil {
			return nil, fmt.Errorf("pods of cases have addresses in %s: %w", destinations, err)
		}
	}
	return names, nil
}

// application listens behind the sidecar and, on ports that lines dial without the workload knowing them, past it.
func (p *pod) application() error {
	known := map[uint16]bool{}
	for _, in := range p.view.Inbound {
		l := in.Listener
		known[l.Port] = true
		if err := p.listen(netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), l.Port), application,
			l.Protocol); err != nil {
			return err
		}
	}
	for _, l := range p.lines {
		if l.Into && !known[l.Request.Port] {
			known[l.Request.Port] = true
			if err := p.listen(netip.AddrPortFrom(netip.MustParseAddr(podAddress), l.Request.Port), application,
				l.Request.Protocol); err != nil {
				return err
			}
		}
	}
	return nil
}

// outside listens on every address and port that lines dial.
func (p *pod) outside() error {
	speaks := map[netip.AddrPort]model.Protocol{}
	for _, l := range p.lines {
		if l.Into {
			continue
		}
		protocol := anyProtocol
		switch {
		case l.Request.ServerName != "":
			protocol = tlsProtocol
		case l.Request.Protocol == model.TCP, l.Request.Protocol == model.GRPC:
			protocol = l.Request.Protocol
		}
		at := netip.AddrPortFrom(l.Request.Address, l.Request.Port)
		if other := speaks[at]; other == protocol {
			continue
		} else if other != "" {
			return fmt.Errorf("requests.txt:%d: the world outside cannot speak both %s and %s on %s", l.Number,
				other, protocol, at)
		}
		speaks[at] = protocol
		if err := p.listen(at, "world", protocol); err != nil {
			return err
		}
	}
	return nil
}

func (p *pod) listen(at netip.AddrPort, who string, protocol model.Protocol) error {
	l, err := net.Listen("tcp4", at.String())
	if err != nil {
		return fmt.Errorf("%s: %w", who, err)
	}
	p.tally.serve(l, who, protocol)
	return nil
}

// capture redirects packets as the init container of a pod does.
func (p *pod) capture() error {
	var ports []string
	for _, in := range p.view.Inbound {
		ports = append(ports, strconv.Itoa(int(in.Listener.Port)))
	}
	env := map[string]string{
		capture.EnvEnabled: "1", capture.EnvUID: strconv.Itoa(sidecar.UID),
		capture.EnvIngressPort: strconv.Itoa(sidecar.InboundPort),
		capture.EnvEgressPort:  strconv.Itoa(sidecar.OutboundPort),
		capture.EnvAppPorts:    strings.Join(ports, ","),
	}
	c, err := capture.FromEnv(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return err
	}
	return capture.Apply(c.Rules())
}

// caller gives the client of a line: in the pod, or in the world for what arrives.
func (p *pod) caller(l Line) *caller {
	var d net.Dialer
	if !l.Into {
		return newCaller(l, netip.AddrPortFrom(l.Request.Address, l.Request.Port),
			func(ctx context.Context, address string) (net.Conn, error) {
				return d.DialContext(ctx, "tcp4", address)
			})
	}
	to := netip.AddrPortFrom(netip.MustParseAddr(podAddress), l.Request.Port)
	return newCaller(l, to, func(ctx context.Context, address string) (conn net.Conn, err error) {
		err = p.world.do(func() error {
			conn, err = d.DialContext(ctx, "tcp4", address)
			return err
		})
		return conn, err
	})
}

// Workloads lists the workloads that a case's lines are about.
func (c *Case) Workloads() []string {
	var out []string
	for _, l := range c.Lines {
		if !slices.Contains(out, l.Workload) {
			out = append(out, l.Workload)
		}
	}
	return out
}
