package aggregate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"anymesh.dev/anymesh/test/poll"
)

// Browsers cannot set headers: their token is a subprotocol, and the server must choose another one. Dashboards watch
// with a WebSocket.
func TestWatchOverAWebSocket(t *testing.T) {
	l := newLab(t, 1)
	l.put(0, "a")
	dialer := websocket.Dialer{
		Subprotocols: []string{bearerProtocol + "amFuZQ", "base64.binary.k8s.io"}, HandshakeTimeout: 20 * time.Second,
	}
	conn, response, err := dialer.Dial(strings.Replace(l.url, "http", "ws", 1)+podPath+"?watch=1",
		http.Header{"Authorization": {"Bearer jane"}, "Origin": {"https://dashboard.example"}})
	if err != nil {
		t.Fatal(err, response)
	}
	defer conn.Close()
	if conn.Subprotocol() != "base64.binary.k8s.io" {
		t.Errorf("the server chooses subprotocol %q", conn.Subprotocol())
	}
	next := func() string {
		t.Helper()
		if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		kind, message, err := conn.ReadMessage()
		if err != nil || kind != websocket.TextMessage {
			t.Fatalf("message of kind %d: %v", kind, err)
		}
		var event struct {
			Type   string
			Object struct{ Metadata struct{ Name string } }
		}
		if err := json.Unmarshal(message, &event); err != nil {
			t.Fatal(err)
		}
		return event.Type + " " + event.Object.Metadata.Name
	}
	if got := next(); got != "ADDED a" {
		t.Errorf("got %q", got)
	}
	l.put(0, "b")
	if got := next(); got != "ADDED b" {
		t.Errorf("got %q", got)
	}
	if n := len(l.inFlight.streams); n != 1 {
		t.Errorf("%d streams", n)
	}
	_ = conn.Close()
	poll.Until(t, "no slot is taken", func() bool { return len(l.inFlight.requests)+len(l.inFlight.streams) == 0 })
}

// A watch ends with a message that says so: the client resumes it.
func TestEndOfAWatchOverAWebSocket(t *testing.T) {
	l := newLab(t, 1)
	url := strings.Replace(l.url, "http", "ws", 1) + podPath + "?watch=1&timeoutSeconds=1"
	conn, _, err := websocket.DefaultDialer.Dial(url, http.Header{"Authorization": {"Bearer jane"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := conn.ReadMessage(); !websocket.IsCloseError(err, websocket.CloseNormalClosure) {
		t.Errorf("the watch ends with %v", err)
	}
}
