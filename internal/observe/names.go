package observe

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// resolver is the address of the DNS server of the pod.
const resolver = "127.0.0.53"

// searchDomain is the search domain of the pod. As in Kubernetes, a name with few dots is tried in it first.
const searchDomain = "search.test"

// unroutable is an IPv6 address that the pod has no route to.
var unroutable = netip.MustParseAddr("2001:db8::1")

// serveNames serves A and AAAA records for fully qualified names and makes this mount namespace use the server.
func serveNames(dir string, names map[string][]netip.Addr) error {
	conf := filepath.Join(dir, "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver "+resolver+"\nsearch "+searchDomain+"\noptions ndots:5\n"), 0o644); err != nil {
		return err
	}
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		return err
	}
	if err := unix.Mount(conf, path, "", unix.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	conn, err := net.ListenPacket("udp4", resolver+":53")
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			if reply, err := resolve(buffer[:n], names); err == nil {
				_, _ = conn.WriteTo(reply, from) // the client retries
			}
		}
	}()
	return nil
}

func resolve(query []byte, names map[string][]netip.Addr) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil || len(m.Questions) != 1 {
		return nil, err
	}
	q := m.Questions[0]
	m = dnsmessage.Message{
		Header: dnsmessage.Header{
			ID: m.ID, Response: true, Authoritative: true, RecursionDesired: m.RecursionDesired,
			RecursionAvailable: true,
		},
		Questions: m.Questions,
	}
	addresses, known := names[strings.ToLower(q.Name.String())]
	if !known {
		m.RCode = dnsmessage.RCodeNameError
	}
	for _, a := range addresses {
		var body dnsmessage.ResourceBody
		switch {
		case a.Is4() && q.Type == dnsmessage.TypeA:
			body = &dnsmessage.AResource{A: a.As4()}
		case a.Is6() && q.Type == dnsmessage.TypeAAAA:
			body = &dnsmessage.AAAAResource{AAAA: a.As16()}
		default:
			continue
		}
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 300}, Body: body,
		})
	}
	return m.Pack()
}
