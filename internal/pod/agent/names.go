package agent

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	datadnsv3 "github.com/envoyproxy/go-control-plane/envoy/data/dns/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/proto"

	"anymesh.dev/anymesh/internal/pod/dns"
	"anymesh.dev/anymesh/sidecar"
)

// namesFile caches the names in CertDir, so that a restarted agent answers at once.
const namesFile = "names.json"

// Limits of the backoff between connections to the control plane.
const minNamesRetry, maxNamesRetry = 500 * time.Millisecond, 10 * time.Second

// namesKeepalive detects a lost connection within 40 s.
var namesKeepalive = keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 10 * time.Second}

// names receives the host names of the mesh from the control plane, and sets them in the DNS server.
type names struct {
	*agent
	server *dns.Server
	// received is true after the first response, or with names of an earlier process of the pod.
	received atomic.Bool

	records  map[string]dns.Record
	versions map[string]string // of the resources, by name
}

// startDNS starts the DNS server with the cached names. It returns nil if the server is disabled.
func (a *agent) startDNS(ctx context.Context, run func(func())) (*names, error) {
	if a.XDSAddress == "" || a.DNSPort == 0 {
		return nil, nil
	}
	upstreams, search, err := dns.ReadConfig(a.ResolvConf)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	c := dns.Config{Upstreams: upstreams, Search: search, Logger: a.Logger}
	if err := a.detectFamilies(&c); err != nil {
		return nil, err
	}
	server, err := dns.New(c)
	if err != nil {
		return nil, fmt.Errorf("agent: DNS server: %w", err)
	}
	if err := server.Listen(); err != nil {
		return nil, fmt.Errorf("agent: DNS server: %w", err)
	}
	n := &names{agent: a, server: server, records: map[string]dns.Record{}, versions: map[string]string{}}
	a.metrics.registerDNS(server.Counts)
	n.load()
	run(func() {
		if err := server.Run(ctx); err != nil {
			a.Logger.Error("DNS server failed", "error", err)
		}
	})
	return n, nil
}

// detectFamilies sets the listen addresses and the address families that the pod has.
func (a *agent) detectFamilies(c *dns.Config) error {
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
		n.Logger.Info("stream of host names ended", "server", n.XDSAddress, "error", err, "retryIn", wait)
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
		delay = min(2*delay, maxNamesRetry)
	}
}

// stream receives names over one connection. It reports whether the control plane responded.
func (n *names) stream(ctx context.Context) (served bool, err error) {
	roots, err := n.roots()
	if err != nil {
		return false, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(n.CertDir, "tls.crt"), filepath.Join(n.CertDir, "tls.key"))
	if err != nil {
		return false, err
	}
	conn, err := grpc.NewClient(n.XDSAddress, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13, RootCAs: roots.Pool(), Certificates: []tls.Certificate{pair},
	})), grpc.WithKeepaliveParams(namesKeepalive), grpc.WithDisableServiceConfig(), grpc.WithNoProxy())
	if err != nil {
		return false, err
	}
	defer conn.Close()
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return false, err
	}
	err = s.Send(&discoveryv3.DeltaDiscoveryRequest{
		Node: &corev3.Node{UserAgentName: "anymesh-agent"}, TypeUrl: sidecar.HostNameType,
		ResourceNamesSubscribe: []string{"*"}, InitialResourceVersions: maps.Clone(n.versions),
	})
	for err == nil {
		var response *discoveryv3.DeltaDiscoveryResponse
		if response, err = s.Recv(); err == nil {
			n.apply(response)
			served = true
			err = s.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: sidecar.HostNameType, ResponseNonce: response.GetNonce()})
		}
	}
	return served, err
}

// apply sets the names of a response in the DNS server.
func (n *names) apply(response *discoveryv3.DeltaDiscoveryResponse) {
	for _, name := range response.GetRemovedResources() {
		delete(n.records, name)
		delete(n.versions, name)
	}
	for _, resource := range response.GetResources() {
		var domain datadnsv3.DnsTable_DnsVirtualDomain
		if err := proto.Unmarshal(resource.GetResource().GetValue(), &domain); err != nil {
			n.Logger.Warn("host name cannot be decoded", "resource", resource.GetName(), "error", err)
			continue
		}
		record := dns.Record{TTL: uint32(domain.GetAnswerTtl().GetSeconds())}
		for _, text := range domain.GetEndpoint().GetAddressList().GetAddress() {
			if address, err := netip.ParseAddr(text); err == nil {
				record.Addresses = append(record.Addresses, address)
			}
		}
		n.records[strings.ToLower(resource.GetName())] = record
		n.versions[resource.GetName()] = resource.GetVersion()
	}
	n.server.SetNames(n.records)
	n.received.Store(true)
	if err := n.save(); err != nil {
		n.Logger.Warn("host names are not cached", "error", err)
	}
}

// cachedNames is the content of namesFile.
type cachedNames struct {
	Records  map[string]dns.Record `json:"records"`
	Versions map[string]string     `json:"versions"`
}

func (n *names) save() error {
	text, err := json.Marshal(cachedNames{n.records, n.versions})
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
	var cached cachedNames
	if err := json.Unmarshal(text, &cached); err != nil || cached.Records == nil || cached.Versions == nil {
		n.Logger.Warn("cached host names are invalid", "error", err)
		return
	}
	n.records, n.versions = cached.Records, cached.Versions
	n.server.SetNames(n.records)
	n.received.Store(true)
}
