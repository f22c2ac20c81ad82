package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// onlyLong skips a test unless "make test-long" runs it.
func onlyLong(t *testing.T) {
	t.Helper()
	if os.Getenv("ANYMESH_TEST_LONG") == "" {
		t.Skip("takes minutes: run with make test-long")
	}
}

// metric returns the sum of a metric of a proxy, over all its labels. The name may end with the first labels.
func metric(t *testing.T, address, name string) (sum float64) {
	t.Helper()
	_, text := do(t, request(t, "GET", "http://"+address+"/metrics", nil))
	for _, line := range regexp.MustCompile(`(?m)^`+name+`(\{.*\}|.*\})? (.*)$`).FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	return sum
}

const metricsListener = `
- {name: metrics, spec: {protocol: HTTP, port: $METRICS, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Prometheus}}}}}]}
`

// hold waits for a condition that takes minutes at most.
func hold(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

// One million UDP sessions come and expire. The second half needs no more memory than the first one.
func TestLongUDPSessions(t *testing.T) {
	onlyLong(t)
	const sessions, atATime = 1_000_000, 5000
	up, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	_ = up.(*net.UDPConn).SetReadBuffer(8 << 20) // the system has a limit of its own
	var received atomic.Int64
	go func() {
		for b := make([]byte, 2000); ; received.Add(1) {
			if _, _, err := up.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	p := startProcess(t, `
listeners:
- {name: in, spec: {protocol: UDP, port: $IN, options: {idle_timeout: 200}}, rules: [{action: {route: {destination: up}}}]}`+
		metricsListener+`
clusters: [{name: up, spec: {protocol: UDP, port: `+portOf(up.LocalAddr())+`}, endpoints: [{spec: {address: 127.0.0.1}}]}]
`, "IN", "METRICS")
	to, err := net.ResolveUDPAddr("udp4", p.at["IN"])
	if err != nil {
		t.Fatal(err)
	}
	active := func() int { return int(metric(t, p.at["METRICS"], "sessions")) }
	files, begun := p.files(t), time.Now()
	var middle float64
	for i := range sessions {
		from := &net.UDPAddr{IP: net.IPv4(127, byte(1+i>>16), byte(i>>8), byte(i)), Port: 40000}
		c, err := net.DialUDP("udp4", from, to)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "x")
		_ = c.Close()
		if i%500 == 499 {
			hold(t, "few sessions at a time", func() bool { return active() < atATime })
		}
		if i == sessions/2 {
			hold(t, "the end of the first half", func() bool { return active() == 0 })
			middle = p.memory(t)
		}
	}
	hold(t, "the end of all sessions", func() bool { return active() == 0 })
	end, left := p.memory(t), 0
	hold(t, "the end of all sockets", func() bool { left = p.files(t); return left <= files+2 })
	created := metric(t, p.at["METRICS"], `cluster_requests_total{clusterName="up"`)
	dropped := metric(t, p.at["METRICS"], "udp_dropped_packets_total")
	t.Logf("%.0f sessions in %v; of %d packets the proxy dropped %.0f and the server received %d", created,
		time.Since(begun).Round(time.Second), sessions, dropped, received.Load())
	t.Logf("%.0f MB after the first half, %.0f MB at the end; %d files, %d before", middle, end, left, files)
	if created != sessions || dropped > 0 || end > middle*1.2+10 {
		t.Errorf("%.0f sessions, %.0f dropped packets; memory grows from %.0f to %.0f MB", created, dropped, middle, end)
	}
}

// 10 000 WebSocket connections are idle; all work afterwards, and leave nothing.
func TestLongWebSockets(t *testing.T) {
	onlyLong(t)
	const count = 10_000
	p := startProcess(t, `
listeners:
- {name: in, spec: {protocol: WebSocket, port: $IN, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Echo}}}}}]}`+
		metricsListener, "IN", "METRICS")
	before, files := p.memory(t), p.files(t)
	var idle [2]float64 // MB
	for round := range idle {
		all := make([]net.Conn, count)
		for i := range all {
			c, err := net.Dial("tcp", p.at["IN"])
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			all[i] = c
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
			head := make([]byte, 0, 300)
			for !strings.HasSuffix(string(head), "\r\n\r\n") {
				head = head[:len(head)+1]
				if _, err := io.ReadFull(c, head[len(head)-1:]); err != nil {
					t.Fatal(err)
				}
			}
		}
		hold(t, "all connections are sessions", func() bool { return metric(t, p.at["METRICS"], "sessions") == count })
		idle[round] = p.memory(t)
		t.Logf("round %d: %.1f KB for each idle connection", round, (idle[round]-before)*1000/count)
		for i, c := range all {
			_, _ = c.Write([]byte{0x82, 0x81, 0, 0, 0, 0, 'x'}) // a binary message of one byte
			got := make([]byte, 3)
			if _, err := io.ReadFull(c, got); err != nil || got[2] != 'x' {
				t.Fatalf("connection %d: got %q, error %v", i, got, err)
			}
			_ = c.Close()
		}
		hold(t, "the end of all sessions", func() bool { return metric(t, p.at["METRICS"], "sessions") == 0 })
	}
	hold(t, "the end of all sockets", func() bool { return p.files(t) <= files+2 })
	if idle[1] > idle[0]*1.2+10 {
		t.Errorf("memory grows from %.0f to %.0f MB", idle[0], idle[1])
	}
}

// Routes change 24 times a second for five minutes under load; no request fails, and the memory does not grow.
func TestLongRouteChanges(t *testing.T) {
	onlyLong(t)
	const changes, minutes = 24, 5
	up := httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	p := startProcess(t, `
listeners:
- {name: in, spec: {protocol: HTTP, port: $IN, address: 127.0.0.1}, rules: list}
- {name: ctl, spec: {protocol: HTTP, port: $API}, rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]}
rulelists: [{name: list, rules: [{action: {route: r}}]}]
routes: [{name: r, destination: a}]
clusters:
- {name: a, spec: {protocol: HTTP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}
- {name: b, spec: {protocol: HTTP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}
`, "IN", "API")
	ctx, stop := context.WithTimeout(context.Background(), minutes*time.Minute)
	defer stop()
	var requests, failed atomic.Int64
	var load sync.WaitGroup
	for range 8 {
		load.Go(func() {
			c := &http.Client{Timeout: patience}
			for ctx.Err() == nil {
				response, err := c.Get("http://" + p.at["IN"])
				if requests.Add(1); err != nil {
					failed.Add(1)
					continue
				}
				if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != 200 {
					failed.Add(1)
				}
				_ = response.Body.Close()
				time.Sleep(2 * time.Millisecond) // a part of the machine is enough
			}
		})
	}
	api := client{t, "http://" + p.at["API"] + "/api/v1/"}
	tick := time.NewTicker(time.Second / changes)
	defer tick.Stop()
	done, early := 0, 0.0
	for ctx.Err() == nil {
		<-tick.C
		switch done % 4 {
		case 0:
			api.must("PUT", "routes/r", `route: {name: r, destinations: [{destination: a, weight: 1}, {destination: b, weight: 3}]}`)
		case 1:
			api.must("POST", "rulelists/list/rules/0", `rule: {name: first, match: {op: test, path: /HTTP/method, value: GET}, action: {route: {destination: b}}}`)
		case 2:
			api.must("DELETE", "rulelists/list/rules/first?recursive", "")
		case 3:
			api.must("PUT", "routes/r", `route: {name: r, destination: {spec: {protocol: HTTP, port: `+up+`}, endpoints: [{spec: {address: 127.0.0.1}}]}}`)
		}
		if done++; done == changes*30 {
			early = p.memory(t)
		}
	}
	load.Wait()
	end := p.memory(t)
	t.Logf("%d changes, %d requests, %d failed; %.1f MB after half a minute, %.1f MB at the end, %d files",
		done, requests.Load(), failed.Load(), early, end, p.files(t))
	if failed.Load() > 0 || end > early*1.2+10 {
		t.Errorf("%d requests failed; memory grows from %.1f to %.1f MB", failed.Load(), early, end)
	}
}
