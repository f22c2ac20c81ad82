package model

import (
	"testing"
)

// TestOverflow checks which requests a circuit breaker refuses while others are open.
func TestOverflow(t *testing.T) {
	const forwarded, refused = false, true
	for name, c := range map[string]struct {
		breaker  *CircuitBreaker
		protocol Protocol
		open     uint32
		want     bool
	}{
		"no limits":                    {nil, HTTP, 1000, forwarded},
		"a free connection":            {&CircuitBreaker{MaxConnections: 2, MaxPending: 1}, HTTP, 1, forwarded},
		"a request may wait":           {&CircuitBreaker{MaxConnections: 2, MaxPending: 1}, HTTP, 2, forwarded},
		"no more may wait":             {&CircuitBreaker{MaxConnections: 2, MaxPending: 1}, HTTP, 3, refused},
		"any number may wait":          {&CircuitBreaker{MaxConnections: 2}, HTTP, 1000, forwarded},
		"requests share a connection":  {&CircuitBreaker{MaxConnections: 1, MaxPending: 1}, HTTP2, 1000, forwarded},
		"below the number of requests": {&CircuitBreaker{MaxRequests: 2}, GRPC, 1, forwarded},
		"the number of requests":       {&CircuitBreaker{MaxRequests: 2}, GRPC, 2, refused},
		"streams do not wait":          {&CircuitBreaker{MaxConnections: 2}, TCP, 2, refused},
		"largest numbers": {
			&CircuitBreaker{MaxConnections: 1<<32 - 1, MaxPending: 1<<32 - 1}, HTTP, 1<<32 - 1, forwarded,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := &View{Inbound: []Inbound{{Listener: Listener{Port: 80, Protocol: c.protocol, CircuitBreaker: c.breaker}}}}
			d := v.DecideInbound(Request{Port: 80, Protocol: c.protocol, Path: "/", State: State{Open: c.open}})
			if (d.Outcome == Overflow) != c.want {
				t.Errorf("outcome %s, steps %v", d.Outcome, d.Steps)
			}
		})
	}
}
