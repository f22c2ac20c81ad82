package fleet

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestHalfOpenConnectionIsNoticed guards requests on a connection that has no other end any longer: they must fail
// soon, and the next one must use another connection.
func TestHalfOpenConnectionIsNoticed(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 || r.URL.Path == "/fast" {
			_, _ = io.WriteString(w, r.Proto)
			return
		}
		<-r.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var silent sync.RWMutex
	first := true
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				return
			}
			held := first
			first = false
			forward := func(to, from net.Conn) {
				buffer := make([]byte, 32<<10)
				for {
					n, err := from.Read(buffer)
					if held { // The first connection can become half-open.
						silent.RLock()
					}
					_, _ = to.Write(buffer[:n])
					if held {
						silent.RUnlock()
					}
					if err != nil {
						_ = to.Close()
						return
					}
				}
			}
			go forward(upstream, client)
			go forward(client, upstream)
		}
	}()
	transport, err := transportFor(&rest.Config{
		Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}, http.HTTP2Config{SendPingTimeout: 200 * time.Millisecond, PingTimeout: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+listener.Addr().String()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := transport.RoundTrip(r)
		if err != nil {
			return "", err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		return string(body), err
	}
	if text, err := get("/fast"); text != "HTTP/2.0" || err != nil {
		t.Fatal(text, err)
	}
	silent.Lock()
	defer silent.Unlock()
	began := time.Now()
	if _, err := get("/slow"); err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	if text, err := get("/fast"); text != "HTTP/2.0" || err != nil {
		t.Error("the next request:", text, err)
	}
}
