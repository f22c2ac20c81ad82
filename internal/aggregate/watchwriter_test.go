package aggregate

import (
	"bufio"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// watchServer serves handler with a version of HTTP, and returns a client.
func watchServer(t *testing.T, http2 bool, handler func(*watchWriter)) (*httptest.Server, *http.Response) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writer := newWatchWriter(w, 300*time.Millisecond, func() {})
		defer writer.close()
		handler(writer)
	}))
	server.EnableHTTP2 = http2
	server.StartTLS()
	t.Cleanup(server.Close)
	response, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if http2 != (response.ProtoMajor == 2) {
		t.Fatalf("the protocol is %s", response.Proto)
	}
	return server, response
}

// kubectl get --watch of objects that nobody changes has no event for hours.
func TestWatchWithoutEventsIsNotEnded(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			_, response := watchServer(t, http2, func(w *watchWriter) {
				for range 2 {
					if _, err := w.Write([]byte("event\n")); err != nil {
						t.Error(err)
					}
					if err := w.flush(); err != nil {
						t.Error(err)
					}
					time.Sleep(3 * w.limit)
				}
			})
			lines := bufio.NewScanner(response.Body)
			n := 0
			for lines.Scan() {
				n++
			}
			if lines.Err() != nil || n != 2 {
				t.Errorf("%d lines, %v", n, lines.Err())
			}
		})
	}
}

func TestClientThatDoesNotReadLosesTheWatch(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("HTTP/2 %t", http2), func(t *testing.T) {
			failed := make(chan error, 1)
			watchServer(t, http2, func(w *watchWriter) {
				line := make([]byte, 1<<20)
				for {
					if _, err := w.Write(line); err != nil {
						failed <- err
						return
					}
				}
			})
			select {
			case <-failed:
			case <-time.After(2 * time.Minute):
				t.Error("the server still writes")
			}
		})
	}
}
