package observe

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/model"
)

// pod is the environment of the sidecar of one workload. It uses the namespaces of this process.
type pod struct {
	sidecar  Sidecar
	external *netns
	view     *model.View
	index    *model.Index
	lines    []Line
	counter  *requestCounter

	certificates *certificates
	library      *library // of the application; nil if the pod has a proxy
}

// enter sets up the sidecar of a workload in this process, with all servers that the lines need. The process must
// have its own network, mount and process namespaces.
func enter(ctx context.Context, s Sidecar, dir string, m Translation, view *model.View,
	lines []Line) (*pod, *discovery, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, nil, &os.PathError{Op: "make mounts private", Path: "/", Err: err}
	}
	external, err := connectNetworks()
	if err != nil {
		return nil, nil, err
	}
	p := &pod{
		sidecar: s, external: external, view: view, index: m.State.Index, lines: lines,
		counter: &requestCounter{tries: map[string]int{}},
	}
	if p.certificates, err = mountCertificates(m.State.Index.Model, lines); err != nil {
		return nil, nil, err
	}
	socket, err := p.certificates.serveSecrets(view)
	if err != nil {
		return nil, nil, fmt.Errorf("secrets: %w", err)
	}
	names, err := p.destinations(m.State.Index)
	if err != nil {
		return nil, nil, err
	}
	for _, l := range lines {
		if l.Resolved.IsValid() {
			name := strings.ToLower(l.Request.ServerName) + "."
			names[name] = []netip.Addr{l.Resolved, unroutable}
			names[name+searchDomain+"."] = []netip.Addr{l.Request.Address}
		}
	}
	if err := serveNames(dir, names); err != nil {
		return nil, nil, fmt.Errorf("name server: %w", err)
	}
	if !s.proxyless() {
		if err := p.application(); err != nil {
			return nil, nil, err
		}
	}
	if err := external.do(p.serveExternal); err != nil {
		return nil, nil, err
	}
	if !view.Gateway && !s.proxyless() {
		if err := captureTraffic(view); err != nil {
			return nil, nil, err
		}
	}
	if err := mountRun(); err != nil {
		return nil, nil, err
	}
	d, err := process{s, dir, socket, nil}.start(ctx, view.Workload, m.Rendered[view.Workload.Key])
	if err == nil && s.proxyless() {
		p.library = d.library
		err = p.serveApplication()
	}
	return p, d, err
}

// endpoints is the number of addresses of each host name.
const endpoints = 2

// instance is the server name at addresses of pods of the case. resolveInstance maps the address to a destination.
const instance = "instance"

// externalServer is the name of the servers in the external network.
const externalServer = "external"

// destinations assigns addresses to host names and starts servers for the destinations at these addresses and at the
// addresses of the pods of the case. It returns the names.
func (p *pod) destinations(ix *model.Index) (map[string][]netip.Addr, error) {
	names := map[string][]netip.Addr{}
	instances := map[netip.AddrPort]model.Destination{}
	next := netip.MustParsePrefix(destinations).Addr()
	for _, d := range ix.Model.Destinations {
		if d.Discovery.Kind == model.DiscoverInstances {
			reach, _ := ix.ResolvedDestination(d.Key)
			for _, e := range reach.Endpoints {
				for _, address := range e.Addresses {
					if hostNetwork.Contains(address) {
						continue // a pod of a headless Service
					}
					instances[netip.AddrPortFrom(address, d.PortAt(e))] = atEndpoint(d, e)
				}
			}
			continue
		}
		if d.Discovery.Kind == model.DiscoverStatic {
			if err := p.serveAddresses(ix, d); err != nil {
				return nil, err
			}
			continue
		}
		name := d.Discovery.Hostname + "." // without a search domain, a name without dots is absolute, too
		for len(names[name]) < endpoints {
			next = next.Next()
			names[name] = append(names[name], next)
		}
		for _, address := range names[name] {
			if err := p.serveDestination(ix, netip.AddrPortFrom(address, d.Port), d.Name, d); err != nil {
				return nil, err
			}
		}
	}
	for at, d := range instances {
		if err := p.serveDestination(ix, at, instance, d); err != nil {
			return nil, fmt.Errorf("the pods of a case need addresses in %s: %w", destinations, err)
		}
	}
	return names, nil
}

// serveDestination starts a server for a destination.
func (p *pod) serveDestination(ix *model.Index, at netip.AddrPort, name string, d model.Destination) error {
	secured, err := p.certificates.server(ix, d)
	if err != nil {
		return err
	}
	unhealthy := slices.ContainsFunc(p.lines, func(l Line) bool {
		return slices.Contains(l.Request.State.Unhealthy, d.Name)
	})
	if unhealthy && d.HealthCheck != nil && d.HealthCheck.Protocol == model.TCP {
		return nil // connections are refused
	}
	return p.listenTLS(at, &server{name, p.counter, unhealthy}, d.Protocol, secured)
}

// application starts servers for the listeners behind the sidecar and for other dialed ports, which are not captured.
func (p *pod) application() error {
	known := map[uint16]bool{}
	loopback := netip.MustParseAddr("127.0.0.1")
	if p.view.Mesh.Family == model.IPv6Only {
		loopback = netip.IPv6Loopback()
	}
	for _, in := range p.view.Inbound {
		l := in.Listener
		known[l.Port] = true
		if p.view.Gateway {
			continue // Envoy has the port
		}
		if err := p.listen(netip.AddrPortFrom(loopback, l.Port), application, l.Protocol); err != nil {
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

// serveExternal starts external servers on every address and port that lines dial.
func (p *pod) serveExternal() error {
	speaks := map[netip.AddrPort]model.Protocol{}
	for _, s := range p.index.Model.Services {
		for _, pod := range s.Pods {
			for _, d := range p.index.Model.Destinations {
				at := netip.AddrPortFrom(pod.Address, d.Port)
				of := d.Discovery.Service == s.Name || d.Workload == pod.Workload && d.Discovery.Kind != model.DiscoverInstances
				if !of || d.Protocol != model.TCP || speaks[at] != "" {
					continue
				}
				speaks[at] = model.TCP
				if err := p.serveDestination(p.index, at, instance, d); err != nil {
					return fmt.Errorf("the pods of headless Services need addresses in %s: %w", hostNetwork, err)
				}
			}
		}
	}
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
		for _, address := range []netip.Addr{l.Request.Address, l.Resolved} {
			at := netip.AddrPortFrom(address, l.Request.Port)
			if other := speaks[at]; other == protocol || !address.IsValid() {
				continue
			} else if other != "" {
				return fmt.Errorf("requests.txt:%d: the external server cannot use both %s and %s on %s", l.Number,
					other, protocol, at)
			}
			speaks[at] = protocol
			if err := p.listen(at, externalServer, protocol); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pod) listen(at netip.AddrPort, name string, protocol model.Protocol) error {
	return p.listenTLS(at, &server{name: name, counter: p.counter}, protocol, nil)
}

func (p *pod) listenTLS(at netip.AddrPort, s *server, protocol model.Protocol, secured *tls.Config) error {
	l, err := net.Listen("tcp", at.String())
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.serve(l, protocol, secured)
	return nil
}

// caller returns the client of a line: in the pod, or in the external network for inbound requests.
func (p *pod) caller(l Line) (*caller, error) {
	var d net.Dialer
	secured, err := p.certificates.client(l)
	if err != nil {
		return nil, err
	}
	if !l.Into {
		return p.newCaller(l, netip.AddrPortFrom(l.Request.Address, l.Request.Port),
			func(ctx context.Context, address string) (net.Conn, error) {
				return d.DialContext(ctx, "tcp4", address)
			}), nil
	}
	to := netip.AddrPortFrom(netip.MustParseAddr(podAddress), l.Request.Port)
	c := newCaller(l, to, func(ctx context.Context, address string) (conn net.Conn, err error) {
		err = p.external.do(func() error {
			conn, err = d.DialContext(ctx, "tcp4", address)
			return err
		})
		return conn, err
	})
	if p.library != nil {
		c = newCaller(l, libraryServer(l.Request.Port), func(ctx context.Context, address string) (net.Conn, error) {
			return d.DialContext(ctx, "tcp4", address)
		})
	}
	c.secured = secured
	return c, nil
}

// newCaller returns the client of a line in the pod.
func (p *pod) newCaller(l Line, to netip.AddrPort, dial func(context.Context, string) (net.Conn, error)) *caller {
	c := newCaller(l, to, dial)
	c.library = p.library
	return c
}

// Workloads returns the workloads that the lines of the case use.
func (c *Case) Workloads() []string {
	var out []string
	for _, l := range c.Lines {
		if !slices.Contains(out, l.Workload) {
			out = append(out, l.Workload)
		}
	}
	return out
}
