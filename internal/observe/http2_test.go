package observe

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// h2Application is an application with HTTP/2 without TLS. It responds with 200: at once, or to /hold when it is
// released. It sends data of extended CONNECT back if it supports that.
type h2Application struct {
	listener net.Listener
	supports bool
	released chan struct{}
	held     chan struct{}
}

func startH2Application(t *testing.T, supports bool) *h2Application {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	a := &h2Application{listener: l, supports: supports, released: make(chan struct{}), held: make(chan struct{}, 100)}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go a.serve(conn)
		}
	}()
	return a
}

func (a *h2Application) port() uint16 { return a.listener.Addr().(*net.TCPAddr).AddrPort().Port() }

func (a *h2Application) release() { close(a.released) }

func (a *h2Application) waitFor(t *testing.T, requests int) {
	t.Helper()
	for range requests {
		select {
		case <-a.held:
		case <-time.After(responseTimeout):
			t.Fatal("the application does not get the requests")
		}
	}
}

// holdRequests sends requests that wait for the release of the application, and returns their results.
func (a *h2Application) holdRequests(t *testing.T, url string, n int) <-chan string {
	t.Helper()
	out := make(chan string, n)
	for range n {
		go func() {
			request, _ := http.NewRequest(http.MethodPost, url+"/hold", nil) // the method is not retried
			request.Host = "h.demo"
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				out <- err.Error()
				return
			}
			_ = response.Body.Close()
			out <- fmt.Sprint(response.StatusCode)
		}()
	}
	a.waitFor(t, n)
	return out
}

func (a *h2Application) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	var mutex sync.Mutex
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	locked := func(write func()) {
		mutex.Lock()
		defer mutex.Unlock()
		write()
	}
	var settings []http2.Setting
	if a.supports {
		settings = append(settings, http2.Setting{ID: http2.SettingEnableConnectProtocol, Val: 1})
	}
	locked(func() { _ = framer.WriteSettings(settings...) })
	headers := encodeHeaders(":status", "200")
	connected := map[uint32]bool{}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				locked(func() { _ = framer.WriteSettingsAck() })
			}
		case *http2.DataFrame:
			if data := bytes.Clone(f.Data()); connected[f.StreamID] {
				locked(func() { _ = framer.WriteData(f.StreamID, false, data) })
			}
		case *http2.MetaHeadersFrame:
			stream := f.StreamID
			respond := func(end bool) {
				locked(func() {
					_ = framer.WriteHeaders(http2.HeadersFrameParam{
						StreamID: stream, BlockFragment: headers, EndHeaders: true, EndStream: end,
					})
				})
			}
			switch path := f.PseudoValue("path"); {
			case f.PseudoValue("method") == http.MethodConnect && a.supports:
				connected[stream] = true
				respond(false)
			case f.PseudoValue("method") == http.MethodConnect:
				locked(func() { _ = framer.WriteRSTStream(stream, http2.ErrCodeProtocol) })
			case path == "/hold":
				a.held <- struct{}{}
				go func() {
					<-a.released
					respond(true)
				}()
			default:
				respond(true)
			}
		}
	}
}

// h2Client is a client that sends any headers, also invalid ones.
type h2Client struct {
	framer  *http2.Framer
	last    uint32
	results map[uint32]string
}

func dialH2(t *testing.T, address string) *h2Client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(2 * responseTimeout))
	c := &h2Client{framer: http2.NewFramer(conn, conn), results: map[uint32]string{}}
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.framer.AllowIllegalWrites = true
	_, _ = io.WriteString(conn, http2.ClientPreface)
	if err := c.framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return c
}

// request sends a request without a body and returns its stream.
func (c *h2Client) request(t *testing.T, headers ...string) uint32 {
	t.Helper()
	c.last += 2
	stream := c.last - 1
	block := encodeHeaders(headers...)
	for first := true; first || len(block) > 0; first = false {
		part := block[:min(len(block), 16<<10)]
		block = block[len(part):]
		var err error
		if first {
			err = c.framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: stream, BlockFragment: part, EndStream: true, EndHeaders: len(block) == 0,
			})
		} else {
			err = c.framer.WriteContinuation(stream, len(block) == 0, part)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return stream
}

// result waits for the end of a stream: a status, the code of a reset, or the end of the connection. GOAWAY with
// NO_ERROR only asks for another connection for the next requests.
func (c *h2Client) result(stream uint32) string {
	for c.results[stream] == "" {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return "closed"
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			c.results[f.StreamID] = f.PseudoValue("status")
		case *http2.RSTStreamFrame:
			c.results[f.StreamID] = f.ErrCode.String()
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return "closed"
			}
		}
	}
	return c.results[stream]
}

func encodeHeaders(pairs ...string) []byte {
	var out bytes.Buffer
	encoder := hpack.NewEncoder(&out)
	for i := 0; i < len(pairs); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]}) // a buffer has no errors
	}
	return out.Bytes()
}
