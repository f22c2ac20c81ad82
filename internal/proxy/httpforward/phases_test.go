package httpforward

import (
	"net"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy/http1"
	"anymesh.dev/anymesh/internal/proxy/object"
)

// A client that sends a byte each second has the time of the phase for a head, however it sends it; one that sends
// nothing has the time between requests.
func TestPhases(t *testing.T) {
	const head = "GET / HTTP/1.1\r\nHost: a\r\nX: "
	for name, c := range map[string]struct {
		send    func(second int) string
		seconds int64
	}{
		"a byte each second": {func(second int) string { return (head + "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")[second:][:1] }, 10},
		"nothing":            {func(int) string { return "" }, 300},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Server{
				Rules: func() *object.Slot[object.RuleList] { return nil }, Limits: http1.DefaultLimits, Timeouts: DefaultTimeouts,
			}
			client, server := net.Pipe()
			_ = client.SetDeadline(time.Now().Add(time.Minute)) // of the test
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				s.Serve(server, map[string]any{})
			}()
			var one *conn
			for one == nil || one.until.Load() == 0 {
				time.Sleep(time.Millisecond)
				s.each(func(c *conn) { one = c })
			}
			second := 0
			for ; !one.over.Load() && second < 1000; second++ {
				if text := c.send(second); text != "" {
					if _, err := client.Write([]byte(text)); err != nil { // it returns when the server has read the byte
						t.Fatal(err)
					}
				}
				s.tick()
			}
			<-ended
			if seconds := int64(second); seconds < c.seconds || seconds > c.seconds+3 {
				t.Errorf("the connection ended after %d seconds, want %d", seconds, c.seconds)
			}
		})
	}
}
