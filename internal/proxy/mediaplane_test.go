package proxy_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

// The media plane: gateways receive the RTP and RTCP packets of calls, each leg at a listener of its own. A rule labels
// the leg with its call, and it travels as JSONSocket over UDP to the worker that consistent hashing picks for the
// call. The worker joins the legs of a call.
const (
	gatewayConfig = `
admin: {log_level: warn}
listeners:
- {name: ctl, spec: {protocol: HTTP, port: $API}, rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]}
routes:
- {name: to-worker, destination: workers, retry: {retry_on: always, num_retries: 20, timeout: 10000}}
clusters:
- name: workers
  spec: {protocol: JSONSocket, transport: {protocol: UDP}, header: [{path: {from: /labels, to: /labels}}]}
  loadbalancer: {policy: ConsistentHash, key: /labels/call}
  endpoints: %s
`
	workerConfig = `
admin: {log_level: warn}
listeners:
- {name: ctl, spec: {protocol: HTTP, port: $API}, rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]}
- name: in
  spec: {protocol: JSONSocket, transport: {protocol: UDP, port: $IN, address: 127.0.0.1}}
  rules: [{action: {route: {destination: meeting}}}]
clusters:
- {name: meeting, spec: {protocol: Sync, query: /JSONSocket/labels/call}}
`
)

const (
	calls   = 100
	packets = 20
)

// leg is one phone of a call.
type leg struct{ net.Conn }

func (l leg) send(text string) { _, _ = l.Write([]byte(text)) }

func (l leg) receive() string {
	b := make([]byte, 1500)
	n, err := l.Read(b)
	if err != nil {
		return err.Error()
	}
	return string(b[:n])
}

func TestMediaPlane(t *testing.T) {
	var endpoints []string
	workers := map[string]client{}
	for _, name := range []string{"w1", "w2", "w3"} {
		at := start(t, workerConfig, "API", "IN")
		_, port, _ := net.SplitHostPort(at["IN"])
		endpoints = append(endpoints, fmt.Sprintf("{name: %s, spec: {address: 127.0.0.1, port: %s}}", name, port))
		workers[name] = client{t, "http://" + at["API"] + "/api/v1/"}
	}
	one := startGateway(t, endpoints)
	endpoints[0], endpoints[2] = endpoints[2], endpoints[0] // another order
	two := startGateway(t, endpoints)

	legs := make([][2]leg, calls)
	for i := range calls {
		for side, gateway := range []client{one, two} { // the legs of a call come in at different gateways
			port := freeport.Port(t)
			gateway.must("POST", "listeners", fmt.Sprintf(`
listener:
  name: call-%d-%d
  spec: {protocol: UDP, port: %d, address: 127.0.0.1}
  options: {track: 60}
  rules: [{action: {rewrite: [{path: /labels/call, value: "%d"}], route: to-worker}}]`, i, side, port, i))
			legs[i][side] = leg{dial(t, "udp", fmt.Sprintf("127.0.0.1:%d", port))}
		}
	}
	meet(t, legs, "hello")
	talk(t, legs)

	used := 0
	for name, w := range workers {
		labels := map[string]int{}
		var sessions []struct {
			Metadata struct {
				JSONSocket struct{ Labels map[string]string }
			}
		}
		if err := json.Unmarshal([]byte(w.get("sessions")), &sessions); err != nil {
			t.Fatal(err)
		}
		for _, s := range sessions {
			labels[s.Metadata.JSONSocket.Labels["call"]]++
		}
		for call, n := range labels {
			if n != 2 {
				t.Errorf("worker %s has %d legs of call %s", name, n, call)
			}
		}
		if len(labels) > 0 {
			used++
		}
	}
	if used != len(workers) {
		t.Errorf("only %d workers have calls", used)
	}

	// A worker goes away: its calls move, and both legs meet again.
	for _, gateway := range []client{one, two} {
		gateway.must("DELETE", "endpoints/w2?recursive=true", "")
	}
	meet(t, legs, "hello again")
	talk(t, legs)
	if n := strings.Count(one.get("sessions"), `"name":"UDP:`); n != calls {
		t.Errorf("the gateway has %d sessions, want those from before", n)
	}
}

func startGateway(t *testing.T, endpoints []string) client {
	t.Helper()
	text := fmt.Sprintf(gatewayConfig, "["+strings.Join(endpoints, ", ")+"]")
	return client{t, "http://" + start(t, text, "API")["API"] + "/api/v1/"}
}

// meet sends greetings until both legs of each call hear each other.
func meet(t *testing.T, legs [][2]leg, greeting string) {
	t.Helper()
	var all sync.WaitGroup
	for i := range legs {
		all.Go(func() {
			for limit := time.Now().Add(patience); ; {
				heard := 0
				for side, l := range legs[i] {
					legs[i][1-side].send(greeting)
					_ = l.SetReadDeadline(time.Now().Add(250 * time.Millisecond))
					got := l.receive()
					for got != greeting && strings.HasPrefix(got, "hello") {
						got = l.receive() // late
					}
					if got == greeting {
						heard++
					}
				}
				if heard == 2 {
					break
				}
				if time.Now().After(limit) {
					t.Errorf("the legs of call %d do not meet", i)
					return
				}
			}
			for _, l := range legs[i] {
				_ = l.SetReadDeadline(time.Now().Add(patience))
			}
		})
	}
	all.Wait()
}

// talk sends packets of both legs of all calls. All arrive, in order.
func talk(t *testing.T, legs [][2]leg) {
	t.Helper()
	var all sync.WaitGroup
	for i := range legs {
		all.Go(func() {
			for n := range packets {
				for side, l := range legs[i] {
					want := fmt.Sprintf("call %d, leg %d, packet %d", i, side, n)
					l.send(want)
					got := legs[i][1-side].receive()
					for strings.HasPrefix(got, "hello") {
						got = legs[i][1-side].receive() // a late greeting
					}
					if got != want {
						t.Errorf("got %q, want %q", got, want)
						return
					}
				}
			}
		})
	}
	all.Wait()
}
