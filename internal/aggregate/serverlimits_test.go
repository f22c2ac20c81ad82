package aggregate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	searchv1 "anymesh.dev/anymesh/api/search/v1alpha1"
	"anymesh.dev/anymesh/internal/aggregate/membertest"
	"anymesh.dev/anymesh/internal/serverlimit"
	"anymesh.dev/anymesh/test/poll"
)

// serveTLS serves the lab as Run does, and returns the address. Before, change may change the server.
func (l *lab) serveTLS(change func(*http.Server)) string {
	l.t.Helper()
	source := httptest.NewUnstartedServer(nil)
	source.StartTLS()
	l.t.Cleanup(source.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	server, listen := l.httpServer(l.t.Context())
	server.TLSConfig.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &source.TLS.Certificates[0], nil
	}
	if change != nil {
		change(server)
	}
	go func() { _ = server.ServeTLS(listen(listener), "", "") }()
	l.t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

func (l *lab) dial(address string) net.Conn {
	l.t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = c.Close() })
	return c
}

// dialHTTP2 opens a connection with HTTP/2 with settings.
func (l *lab) dialHTTP2(address string, settings ...http2.Setting) (net.Conn, *http2.Framer) {
	l.t.Helper()
	c := tls.Client(l.dial(address), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		l.t.Fatal(err)
	}
	framer := http2.NewFramer(c, c)
	if err := framer.WriteSettings(settings...); err != nil {
		l.t.Fatal(err)
	}
	return c, framer
}

func (l *lab) pollRefused(reason string) {
	l.t.Helper()
	poll.Until(l.t, reason, func() bool { return testutil.ToFloat64(l.metrics.refused.WithLabelValues(reason)) == 1 })
}

// Connections with HTTP/2 have limits.
func TestHTTP2IsLimited(t *testing.T) {
	l := newLab(t, 1)
	release := make(chan struct{})
	_, framer := l.dialHTTP2(l.serveTLS(func(s *http.Server) {
		s.HTTP2.MaxConcurrentStreams = 1
		s.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
	}))
	defer close(release)
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, is := frame.(*http2.SettingsFrame)
	if !is {
		t.Fatalf("the first frame is %v", frame)
	}
	if n, _ := settings.Value(http2.SettingMaxFrameSize); n != serverlimit.MaxReadFrameSize {
		t.Errorf("frames have up to %d bytes", n)
	}
	for stream := range uint32(2) {
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*stream + 1, EndHeaders: true, EndStream: true,
			BlockFragment: []byte{0x82, 0x87, 0x84, 0x41, 1, 'x'}, // GET, https, /, and the authority x
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	l.pollRefused(string(serverlimit.Streams))
	if err := framer.WriteRawFrame(http2.FrameData, 0, 1, make([]byte, serverlimit.MaxReadFrameSize+1)); err != nil {
		t.Fatal(err)
	}
	l.pollRefused(string(serverlimit.Frame))
}

// Handshakes that do not end in time are counted, and those that fail.
func TestHandshakesAreCounted(t *testing.T) {
	l := newLab(t, 1)
	address := l.serveTLS(func(s *http.Server) {
		if s.ReadHeaderTimeout != HandshakeTimeout || s.ReadTimeout != 0 || s.WriteTimeout != 0 {
			t.Errorf("timeouts %v, %v and %v", s.ReadHeaderTimeout, s.ReadTimeout, s.WriteTimeout)
		}
		s.ReadHeaderTimeout = 100 * time.Millisecond
	})
	if _, err := io.WriteString(l.dial(address), "GET / HTTP/1.1\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, "a failure", func() bool { return testutil.ToFloat64(l.metrics.connectionErrors) == 1 })
	l.dial(address)
	l.pollRefused(string(serverlimit.Handshake))
}

// large is a pod of 1 MiB.
func large(name string) membertest.Object {
	return membertest.Object{
		"kind": "Pod", "apiVersion": "v1",
		"metadata": membertest.Object{"name": name, "namespace": "default", "uid": "u-" + name, "annotations": membertest.Object{
			"a": strings.Repeat("a", 1<<20),
		}},
	}
}

// A client that does not read a watch, a list or objects is disconnected, and counted. It keeps no slot.
func TestClientsThatDoNotReadAreCounted(t *testing.T) {
	l := newLab(t, 1)
	l.readTimeout = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := l.run(ctx)
	open := func(path string, n int) {
		c := l.dial(strings.TrimPrefix(l.url, "http://")) // it is not read
		request := "GET " + path + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer jane\r\n\r\n"
		if _, err := io.WriteString(c, strings.Repeat(request, n)); err != nil {
			t.Fatal(err)
		}
	}
	slow := func() float64 { return testutil.ToFloat64(l.metrics.refused.WithLabelValues(reasonSlowClient)) }
	open(podPath+"?watch=1", 1)
	n := 0
	poll.Until(t, "the watch is cut", func() bool {
		l.members[0].Put(podPath, large(fmt.Sprint("p", n%32)))
		n++
		return slow() == 1
	})
	for i := range 32 {
		l.members[0].Put(podPath, large(fmt.Sprint("p", i)))
	}
	poll.Until(t, "all pods are in the cache", func() bool { return l.cache.Status()[0].Objects == 32 })
	open(podPath, 1)
	poll.Until(t, "the list is cut", func() bool { return slow() == 2 })
	open(podsPath+"/p0", 32)
	poll.Until(t, "the objects are cut", func() bool { return slow() == 3 })
	poll.Until(t, "no slot is taken", func() bool { return len(l.inFlight.requests)+len(l.inFlight.streams) == 0 })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The same with HTTP/2: a stream that is not read is reset. If nothing is read, the connection is closed.
func TestStreamsThatAreNotReadAreCounted(t *testing.T) {
	l := newLab(t, 1)
	l.readTimeout = 200 * time.Millisecond
	var server *http.Server
	address := l.serveTLS(func(s *http.Server) { server = s })
	if server.HTTP2.WriteByteTimeout != ReadTimeout {
		t.Errorf("connections that are not read are closed after %v", server.HTTP2.WriteByteTimeout)
	}
	l.members[0].Put(podPath, large("p"))
	poll.Until(t, "the pod is in the cache", func() bool { return l.cache.Status()[0].Objects == 1 })
	open := func(path string) {
		_, framer := l.dialHTTP2(address)
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for _, f := range [][2]string{
			{":method", "GET"}, {":scheme", "https"}, {":authority", "x"}, {":path", path}, {"authorization", "Bearer jane"},
		} {
			if err := encoder.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]}); err != nil {
				t.Fatal(err)
			}
		}
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: block.Bytes(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, path := range []string{podPath + "?watch=1", podPath, podsPath + "/p"} {
		open(path)
		poll.Until(t, path, func() bool {
			return testutil.ToFloat64(l.metrics.refused.WithLabelValues(reasonSlowClient)) == float64(i+1)
		})
	}
	poll.Until(t, "no slot is taken", func() bool { return len(l.inFlight.requests)+len(l.inFlight.streams) == 0 })
}

// A watch whose events are read lasts longer than the time for other responses. It takes the slot of a stream.
func TestWatchesLast(t *testing.T) {
	l := newLab(t, 1)
	l.readTimeout = 200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := l.run(ctx)
	stored := "/apis/" + searchv1.StorageGroupVersion.String() + "/resourceregistries"
	for _, c := range []struct {
		path string
		put  func(membertest.Object)
	}{
		{podPath, func(o membertest.Object) { l.members[0].Put(podPath, o) }},
		{prefix + "/resourceregistries", func(o membertest.Object) { l.control.Put(stored, o) }},
	} {
		get := func(query string) *http.Response {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.url+c.path+query, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer jane")
			response, err := http.DefaultClient.Do(r)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatal(response, err)
			}
			t.Cleanup(func() { _ = response.Body.Close() })
			return response
		}
		var list struct{ Metadata metav1.ListMeta }
		if err := json.NewDecoder(get("").Body).Decode(&list); err != nil {
			t.Fatal(err)
		}
		response := get("?watch=true&resourceVersion=" + list.Metadata.ResourceVersion)
		if n := len(l.inFlight.streams); n != 1 {
			t.Errorf("%s: %d streams", c.path, n)
		}
		lines := bufio.NewScanner(response.Body)
		for begun, n := time.Now(), 0; time.Since(begun) < 4*l.readTimeout; n++ {
			name := fmt.Sprint("o", n)
			c.put(membertest.Object{"metadata": membertest.Object{"name": name, "namespace": "default", "uid": name}})
			if !lines.Scan() {
				t.Fatalf("%s: the watch ends: %v", c.path, lines.Err())
			}
		}
		_ = response.Body.Close()
		poll.Until(t, "the watch ends", func() bool { return len(l.inFlight.streams) == 0 })
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
