package h2

import (
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// A request that was reset before its user reads it has no text, but an error.
func TestResetBeforeRead(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close()
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	processed, result := make(chan struct{}), make(chan error, 1)
	s := Server{Limits: DefaultLimits}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Serve(server, nil, func(stream *Stream) {
			<-processed
			n, err := stream.Read(make([]byte, 1000))
			if n > 0 {
				t.Errorf("got %d bytes", n)
			}
			result <- err
			_ = stream.Close()
		})
	}()
	f := http2.NewFramer(client, client)
	go func() {
		_, _ = io.WriteString(client, http2.ClientPreface)
		_ = f.WriteSettings()
		get := []byte{0x82, 0x86, 0x84, 0x01, 0x01, 'a'} // GET http / a
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: get, EndStream: true, EndHeaders: true})
		_ = f.WriteRSTStream(1, http2.ErrCodeCancel)
		_ = f.WritePing(false, [8]byte{})
	}()
	for pinged := false; !pinged; { // the frames before it were handled
		frame, err := f.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		_, pinged = frame.(*http2.PingFrame)
	}
	close(processed)
	if err := <-result; err == nil {
		t.Error("the read has no error")
	}
	_ = client.Close()
	<-ended
}
