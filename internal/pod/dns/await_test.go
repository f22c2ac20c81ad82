package dns

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// A question about a pending name waits until the table has its addresses.
func TestPendingNames(t *testing.T) {
	pending := map[string]Record{"pool.local": {TTL: 5, Pending: true}, "other": {Pending: true}}
	for _, network := range []string{"udp", "tcp"} {
		for name, c := range map[string]struct {
			then map[string]Record
			want string
		}{
			"addresses":           {map[string]Record{"pool.local": {Addresses: addresses("10.0.0.5"), TTL: 5}}, "NOERROR"},
			"no addresses":        {map[string]Record{"pool.local": {TTL: 5}}, "NOERROR"},
			"the name is removed": {nil, "SERVFAIL"}, // there is no nameserver to ask
			"still pending":       {pending, "SERVFAIL"},
		} {
			t.Run(network+" "+name, func(t *testing.T) {
				var s *Server
				var requested atomic.Pointer[string]
				config := testConfig()
				config.Requested = func(name string) {
					if requested.Swap(&name) == nil {
						s.SetNames(pending) // a change of other names
						s.SetNames(c.then)
					}
				}
				s = start(t, config, func(s *Server) { s.timing.total = 200 * time.Millisecond })
				s.SetNames(pending)
				answer := ask(t, s, network, newQuestion("Pool.local.cluster.local.", dns.TypeA))
				if got := dns.RcodeToString[answer.Rcode]; got != c.want ||
					len(answer.Answer) != len(c.then["pool.local"].Addresses) {
					t.Errorf("got %s", answer)
				}
				if *requested.Load() != "pool.local" {
					t.Errorf("requested %s", *requested.Load())
				}
			})
		}
	}
}
