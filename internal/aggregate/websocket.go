package aggregate

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// bearerProtocol begins the WebSocket subprotocol that is a bearer token of a browser (Kubernetes API concepts).
const bearerProtocol = "base64url.bearer.authorization.k8s.io."

// webSocket sends each event of a watch as a message of a WebSocket, as kube-apiserver does. Dashboards in browsers
// watch so.
type webSocket struct {
	http.ResponseWriter // not used anymore
	conn                *websocket.Conn
	kind                int // of messages
}

// openWebSocket upgrades a request, or answers why it cannot. The context ends with the connection.
func openWebSocket(
	ctx context.Context, w http.ResponseWriter, r *http.Request, binary bool,
) (*webSocket, context.Context, error) {
	offered := slices.DeleteFunc(websocket.Subprotocols(r), func(p string) bool {
		return strings.HasPrefix(p, bearerProtocol)
	})
	// The credentials are no cookies: a page of another origin has none of them.
	upgrader := websocket.Upgrader{Subprotocols: offered, CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("watch over a WebSocket: %w", err)
	}
	s := &webSocket{ResponseWriter: w, conn: conn, kind: websocket.TextMessage}
	if binary {
		s.kind = websocket.BinaryMessage
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		conn.SetReadLimit(maxClientMessage)
		for { // it answers pings, and ends with the connection
			if _, _, err := conn.ReadMessage(); err != nil {
				return
			}
		}
	}()
	return s, ctx, nil
}

// maxClientMessage is the maximum size of a message of the client in bytes. It has nothing to say.
const maxClientMessage = 4096

// Write sends an event.
func (s *webSocket) Write(event []byte) (int, error) {
	if err := s.conn.WriteMessage(s.kind, event); err != nil {
		return 0, err
	}
	return len(event), nil
}

// FlushError does nothing: messages are sent at once.
func (s *webSocket) FlushError() error { return nil }

// SetWriteDeadline ends a Write that waits. Another goroutine may call it.
func (s *webSocket) SetWriteDeadline(at time.Time) error {
	return s.conn.NetConn().SetWriteDeadline(at)
}

// close ends the connection. The client gets status 1000, and resumes its watch.
func (s *webSocket) close() {
	end := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.conn.WriteControl(websocket.CloseMessage, end, time.Now().Add(time.Second)) // it ends in any case
	_ = s.conn.Close()
}
