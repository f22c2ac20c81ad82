package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/keepalive"

	"anymesh.dev/anymesh/internal/identity"
	"anymesh.dev/anymesh/internal/pod/capture"
	"anymesh.dev/anymesh/internal/pod/dns"
)

// namesFile caches the names in CertDir, so that a restarted agent answers at once.
const namesFile = "names.json"

// Limits of the backoff between connections to the control plane.
const minNamesRetry, maxNamesRetry = 500 * time.Millisecond, 10 * time.Second

// namesKeepalive detects a lost connection within 40 s.
var namesKeepalive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

// MaxRequested limits the names whose addresses clients ask for, and that the control plane was not asked for yet.
const MaxRequested = 100

// names receives the authority and the host names of the mesh from the control plane, and sets the names in the DNS
// server.
type names struct {
	*agent
	server *dns.Server // nil if it is disabled
	// received is true after the first response, or with names of an earlier process of the pod.
	received atomic.Bool
	// requested are names whose addresses a client waits for.
	requested chan string

	table nameTable
}

// startDNS starts the DNS server with the cached names, unless it is disabled. It returns nil without a control plane.
func (a *agent) startDNS(ctx context.Context, run func(func())) (*names, error) {
	if a.XDSAddress == "" {
		return nil, nil
	}
	n := &names{agent: a, table: newNameTable(), requested: make(chan string, MaxRequested)}
	if a.DNSPort == 0 {
		return n, nil
	}
	upstreams, search, err := dns.ReadConfig(a.ResolvConf)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	c := dns.Config{Upstreams: upstreams, Search: search, Logger: a.Logger}
	if err := a.detectFamilies(&c, capture.HasIPv6()); err != nil {
		return nil, err
	}
	c.Requested = n.request
	server, err := dns.New(c)
	if err != nil {
		return nil, fmt.Errorf("agent: DNS server: %w", err)
	}
	if err := server.Listen(); err != nil {
		return nil, fmt.Errorf("agent: DNS server: %w", err)
	}
	n.server = server
	a.metrics.registerDNS(server.Counts)
	n.load()
	run(func() {
		if err := server.Run(ctx); err != nil {
			a.Logger.Error("DNS server failed", "error", err)
		}
	})
	return n, nil
}

// request notes that a client waits for the addresses of a name. If too many names wait, the client has to repeat its
// question.
func (n *names) request(name string) {
	select {
	case n.requested <- name:
	default:
		n.metrics.refused.WithLabelValues("names").Inc()
	}
}

// detectFamilies sets the listen addresses and the address families that the pod has. It ignores IPv6 if the kernel has
// none, as the capture does.
func (a *agent) detectFamilies(c *dns.Config, hasIPv6 bool) error {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("agent: addresses of the pod: %w", err)
	}
	for _, address := range all {
		prefix, err := netip.ParsePrefix(address.String())
		if err != nil {
			continue
		}
		ip := prefix.Addr()
		switch {
		case !ip.Is4() && !hasIPv6:
		case ip.IsLoopback():
			c.Listen = append(c.Listen, netip.AddrPortFrom(ip, a.DNSPort).String())
		case ip.Is4():
			c.IPv4 = true
		case !ip.IsLinkLocalUnicast():
			c.IPv6 = true
		}
	}
	return nil
}

// watch receives names until the context ends. It reconnects with backoff.
func (n *names) watch(ctx context.Context) {
	delay := minNamesRetry
	for ctx.Err() == nil {
		served, err := n.stream(ctx)
		if ctx.Err() != nil {
			return
		}
		if served { // the control plane ends the stream when the certificate expires
			delay = minNamesRetry
		}
		wait := delay/2 + rand.N(delay/2+1)
		if identity.IsOtherAuthority(err) {
			n.Logger.Error(identity.OtherAuthority, "server", n.XDSAddress, "error", err, "retryIn", wait)
		} else {
			n.Logger.Info("stream of the agent ended", "server", n.XDSAddress, "error", err, "retryIn", wait)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		delay = min(2*delay, maxNamesRetry)
	}
}

// publish sets the names in the DNS server and caches them.
func (n *names) publish() {
	n.server.SetNames(n.table.records())
	n.received.Store(true)
	if err := n.save(); err != nil {
		n.Logger.Warn("host names are not cached", "error", err)
	}
}

func (n *names) save() error {
	text, err := json.Marshal(n.table)
	if err != nil {
		return err
	}
	path := filepath.Join(n.CertDir, namesFile)
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// load sets the names of an earlier process of the pod.
func (n *names) load() {
	text, err := os.ReadFile(filepath.Join(n.CertDir, namesFile))
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			n.Logger.Warn("cached host names cannot be read", "error", err)
		}
		return
	}
	cached := newNameTable()
	if err := json.Unmarshal(text, &cached); err != nil || cached.Hosts == nil || cached.Endpoints == nil {
		n.Logger.Warn("cached host names are invalid", "error", err)
		return
	}
	n.table = cached
	n.server.SetNames(n.table.records())
	n.received.Store(true)
}
