package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// until polls a condition.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for limit := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not reached: %s", what)
		}
	}
}

// A server that closes each connection after a message costs a session with retries neither the client nor data.
func TestDisconnectRetry(t *testing.T) {
	var connections atomic.Int32
	up := listen(t, func(c *net.TCPConn) {
		connections.Add(1)
		b := make([]byte, 100)
		n, _ := c.Read(b)
		_, _ = c.Write(b[:n])
	})
	at := start(t, strings.Replace(fmt.Sprintf(tcpConfig, up), "{destination: up}",
		"{destination: up, retry: {retry_on: always, num_retries: 10, timeout: 100}}", 1), "IN")
	c := dial(t, "tcp", at["IN"])
	for i := range 20 {
		want := fmt.Sprintf("message %02d", i)
		b := make([]byte, len(want))
		_, _ = io.WriteString(c, want)
		if _, err := io.ReadFull(c, b); err != nil || string(b) != want {
			t.Fatalf("got %q, error %v", b, err)
		}
		until(t, "another connection", func() bool { return connections.Load() > int32(i)+1 })
	}
}

// A client that leaves ends a session with an endless retry.
func TestRetryEndsWithTheClient(t *testing.T) {
	text := strings.TrimSpace(apiConfig) + `
- {name: in, spec: {protocol: TCP, port: $IN, address: 127.0.0.1}, rules: [{action: {route: {destination: {spec: {protocol: Echo}}, retry: {retry_on: always, num_retries: 1000, timeout: 10}}}}]}
`
	at := start(t, text, "API", "IN")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "x")
	_, _ = io.ReadFull(c, make([]byte, 1))
	_ = c.Close()
	until(t, "the end of the session", func() bool { return api.get("sessions") == "[]" })
}

// An ended session stays listed with its history for a while.
func TestTrackedSessions(t *testing.T) {
	text := strings.TrimSpace(apiConfig) + `
- {name: in, spec: {protocol: TCP, port: $IN, address: 127.0.0.1}, options: {track: 60}, rules: [{match: {op: defined, path: /IP}, action: {rewrite: [{path: /labels/a, value: b}], route: {destination: echo, ingress: [{spec: {protocol: Metric}}]}}}]}
clusters: [{name: echo, spec: {protocol: Echo}}]
`
	at := start(t, text, "API", "IN")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	c := dial(t, "tcp", at["IN"])
	_, _ = io.WriteString(c, "x")
	_, _ = io.ReadFull(c, make([]byte, 1))
	var session struct {
		Name        string
		Status      string
		Metadata    map[string]any
		Destination struct{ Origin, Status string }
		Ingress     []any
		Events      []struct{ Event string }
	}
	read := func() {
		var all []json.RawMessage
		if err := json.Unmarshal([]byte(api.get("sessions")), &all); err != nil || len(all) != 1 {
			t.Fatalf("got %s, error %v", all, err)
		}
		if err := json.Unmarshal(all[0], &session); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if session.Status != "CONNECTED" || session.Destination.Origin != "echo" || session.Destination.Status != "READY" ||
		len(session.Ingress) != 1 || session.Metadata["labels"] == nil || !strings.HasPrefix(session.Name, "TCP:127.0.0.1:") {
		t.Errorf("got %+v", session)
	}
	api.must("DELETE", "sessions/"+session.Name, "")
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("the connection of the deleted session is open")
	}
	until(t, "the end of the session", func() bool { read(); return session.Status == "DESTROYED" })
	var events []string
	for _, e := range session.Events {
		events = append(events, e.Event)
	}
	if got := strings.Join(events, ","); got != "INIT,LOOKUP SUCCESS,CONNECT,END,DESTROY" {
		t.Errorf("events %s", got)
	}
}

// Members of a Sync cluster with the same label hear each other, and one that leaves silences nobody.
func TestSync(t *testing.T) {
	text := `
listeners: [{name: in, spec: {protocol: WebSocket, port: $IN, address: 127.0.0.1}, rules: [{action: {route: {destination: room}}}]}]
clusters: [{name: room, spec: {protocol: Sync, query: /HTTP/url/path}}]
`
	at := start(t, text, "IN")
	connect := protocols[4].connect
	a, b := connect(t, at["IN"], ""), connect(t, at["IN"], "")
	third := dialSocket(t, at["IN"])
	say := func(from, to peer, text string) {
		t.Helper()
		_ = from.send([]byte(text))
		if got, err := to.receive(); string(got) != text || err != nil {
			t.Errorf("got %q, error %v", got, err)
		}
	}
	say(a, b, "one")
	if got, err := socketPeer(third).receive(); string(got) != "one" || err != nil {
		t.Errorf("got %q, error %v", got, err)
	}
	_ = third.Close()
	say(b, a, "two")
	say(a, b, "three")
}
