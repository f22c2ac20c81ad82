package secrets_test

import (
	"log/slog"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// lines are the lines of a log.
type lines chan string

// Write implements io.Writer.
func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

// A rejection by Envoy says that the last certificate stays in use only if Envoy has accepted one.
func TestRejectionSaysWhatIsInUse(t *testing.T) {
	a, log := &api{changed: make(chan struct{})}, make(lines, 10)
	withoutTime := func(_ []string, attribute slog.Attr) slog.Attr {
		if attribute.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attribute
	}
	client := serveWithLog(t, a, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	stream, err := client.StreamSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	request := &discoveryv3.DiscoveryRequest{ResourceNames: []string{"kubernetes://a/web"}}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	const tail = `" secret=a/web error="bad key"` + "\n"
	for _, want := range []string{
		`level=WARN msg="certificate is rejected; connections to its hosts fail until one is accepted` + tail,
		"", // accepted
		`level=WARN msg="certificate is rejected; the last one stays in use` + tail,
	} {
		a.set(certificate(t))
		response, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		request.ResponseNonce, request.ErrorDetail = response.Nonce, nil
		if want == "" {
			request.VersionInfo = response.VersionInfo
		} else {
			request.ErrorDetail = &rpcstatus.Status{Message: "bad key"}
		}
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		if want == "" {
			continue
		}
		if got := <-log; got != want {
			t.Errorf("got %swant %s", got, want)
		}
	}
}
