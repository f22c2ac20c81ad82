package proxy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"anymesh.dev/anymesh/test/freeport"
)

// udpListeners is a proxy whose listeners over UDP lead to one server, and change over the API.
type udpListeners struct {
	t      *testing.T
	api    client
	server string
}

func newUDPListeners(t *testing.T) udpListeners {
	return udpListeners{t, startAPI(t), echoUDP(t)}
}

// body returns a listener; the settings are those of the specification without the port.
func (u udpListeners) body(name, port, settings string) string {
	return fmt.Sprintf(`listener: {name: %s, spec: {protocol: UDP, port: %s, address: 127.0.0.1%s}, rules: [{action: {route: {destination: {spec: `+
		`{protocol: UDP, port: %s}, endpoints: [{spec: {address: 127.0.0.1}}]}}}}]}`, name, port, settings, u.server)
}

// dial returns a function that sends a packet and returns the port of its session to the server; it is empty without an
// answer.
func (u udpListeners) dial(port string) func() string {
	c := dial(u.t, "udp", "127.0.0.1:"+port)
	return func() string {
		_, _ = io.WriteString(c, "hello")
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		packet := make([]byte, 100)
		n, err := c.Read(packet)
		if err != nil {
			return ""
		}
		session, _, _ := strings.Cut(string(packet[:n]), " ")
		return session
	}
}

// stays reports an error if a session is not the one before.
func (u udpListeners) stays(what string, ask func() string, before string) {
	u.t.Helper()
	if now := ask(); now != before || before == "" {
		u.t.Errorf("%s: the session over port %q is over port %q now", what, before, now)
	}
}

// freed waits until nobody has a port.
func (u udpListeners) freed(what, port string) {
	u.t.Helper()
	until(u.t, what, func() bool {
		c, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// When the port of a listener changes, the sessions on the old port go on; new peers are not served there. A listener
// that gets the old port takes the sessions over.
func TestUDPPortChanges(t *testing.T) {
	u := newUDPListeners(t)
	one, two := fmt.Sprint(freeport.Port(t)), fmt.Sprint(freeport.Port(t))
	u.api.must("POST", "listeners", u.body("in", one, ""))
	ask := u.dial(one)
	first := ask()
	u.api.must("PUT", "listeners/in", u.body("in", two, ""))
	u.stays("the port has changed", ask, first)
	late := u.dial(one)
	if late() != "" {
		t.Error("a new peer is served on the old port")
	}
	askTwo := u.dial(two)
	second := askTwo()
	if second == "" {
		t.Error("no answer on the new port")
	}
	u.api.must("PUT", "listeners/in", u.body("in", one, ""))
	u.stays("the old port is back", ask, first)
	u.stays("the second port is left", askTwo, second)
	if late() == "" {
		t.Error("a new peer is not served on the port that is back")
	}
	// Another name, as with the API of l7mp: the listener is deleted and added.
	u.api.must("DELETE", "listeners/in", "")
	u.stays("the listener is deleted", ask, first)
	u.api.must("POST", "listeners", u.body("other", one, ", options: {idle_timeout: 20000}"))
	u.stays("another listener has the port", ask, first)
	u.api.must("DELETE", "listeners/other?recursive=true", "")
	u.freed("the end of sessions of a listener that is deleted with them", one)
}

// A stopped listener frees its port when its last session has ended: by the API, or as it is idle, also if it was to
// live for ever.
func TestStoppedUDPListenerEnds(t *testing.T) {
	u := newUDPListeners(t)
	for what, settings := range map[string]string{"idle": ", options: {idle_timeout: 100}", "deleted": ", options: {idle_timeout: 0}"} {
		port := fmt.Sprint(freeport.Port(t))
		u.api.must("POST", "listeners", u.body(what, port, settings))
		ask := u.dial(port)
		before := ask()
		u.api.must("DELETE", "listeners/"+what, "")
		if what == "deleted" {
			u.stays(what, ask, before)
			var sessions []struct{ Name string }
			if err := json.Unmarshal([]byte(u.api.get("sessions")), &sessions); err != nil || len(sessions) == 0 {
				t.Fatalf("got sessions %v, error %v", sessions, err)
			}
			for _, s := range sessions {
				u.api.must("DELETE", "sessions/"+url.PathEscape(s.Name), "")
			}
		}
		u.freed("the end of the session: "+what, port)
	}
	// Without sessions it ends at once.
	port := fmt.Sprint(freeport.Port(t))
	u.api.must("POST", "listeners", u.body("in", port, ""))
	u.api.must("DELETE", "listeners/in", "")
	c, err := net.ListenPacket("udp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// A listener on another address gets the port of a stopped one at once; the sessions of that end.
func TestStoppedUDPListenerYields(t *testing.T) {
	u := newUDPListeners(t)
	port := fmt.Sprint(freeport.Port(t))
	u.api.must("POST", "listeners", u.body("in", port, ""))
	ask := u.dial(port)
	before := ask()
	u.api.must("DELETE", "listeners/in", "")
	u.stays("deleted", ask, before)
	u.api.must("POST", "listeners", strings.Replace(u.body("all", port, ""), ", address: 127.0.0.1", "", 1))
	until(t, "a new session", func() bool {
		now := ask()
		return now != "" && now != before
	})
}

// If a new listener is refused, the session of the old one goes on.
func TestRefusedUDPPortChange(t *testing.T) {
	u := newUDPListeners(t)
	one, taken := fmt.Sprint(freeport.Port(t)), fmt.Sprint(freeport.Port(t))
	u.api.must("POST", "listeners", u.body("in", one, ""))
	ask := u.dial(one)
	before := ask()
	c, err := net.ListenPacket("udp", "127.0.0.1:"+taken)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if status, body := u.api.call("PUT", "listeners/in", u.body("in", taken, "")); status == 200 || !strings.Contains(body, syscall.EADDRINUSE.Error()) {
		t.Error(errors.New(body))
	}
	u.stays("refused", ask, before)
	if u.dial(one)() == "" {
		t.Error("a new peer is not served")
	}
}
