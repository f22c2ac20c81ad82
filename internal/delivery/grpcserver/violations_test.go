package grpcserver

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
)

const (
	echoMethod = "/test.Test/Echo"
	sinkMethod = "/test.Test/Sink"
	// muteMethod never ends its stream. blockedMethod blocks in its first OnMessage.
	muteMethod    = "/test.Test/Mute"
	blockedMethod = "/test.Test/Blocked"
)

// rawServer is a server for clients that violate the protocol.
type rawServer struct {
	*testServer
	listener *pipeListener
	handlers recordingHandlers
}

func newRawServer(t *testing.T, o Options) *rawServer {
	h := &rawServer{listener: newPipeListener()}
	o.Methods = map[string]func(*Stream) StreamHandler{
		echoMethod: echo,
		sinkMethod: h.handlers.open,
		muteMethod: func(*Stream) StreamHandler {
			return handlerFuncs{onMessage: func([]byte) {},
				onEnd: func(error) {}}
		},
		blockedMethod: func(s *Stream) StreamHandler {
			return handlerFuncs{onMessage: func([]byte) { <-s.Context().Done() }, onEnd: func(error) {}}
		},
	}
	h.testServer = startServer(t, h.listener, o)
	return h
}

// checkRawEcho checks that a stream of the client is served.
func checkRawEcho(p *rawClient, id uint32) {
	p.t.Helper()
	p.open(id, echoMethod)
	p.send(id, 7, true)
	p.expectEvents(fmt.Sprintf("HEADERS %d status=200", id), fmt.Sprintf("DATA %d 12", id),
		fmt.Sprintf("HEADERS %d grpc-status=0", id))
}

func TestProtocolViolations(t *testing.T) {
	for subject, table := range map[string][]violation{"framing": framing, "streams": streamStates,
		"headers": headerBlocks, "flow control": flowControl, "messages": messages} {
		for _, tt := range table {
			t.Run(subject+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newRawServer(t, Options{MaxRecvMsgSize: 1 << 20})
					p, other := connect(t, h.listener), connect(t, h.listener)
					tt.do(p)
					p.expectEvents(tt.want...)
					if !slices.Contains(tt.want, "closed") {
						checkRawEcho(p, 21)
					}
					checkRawEcho(other, 1)
				})
			})
		}
	}
}

func TestInvalidPrefaceIsRefused(t *testing.T) {
	for name, words := range map[string]string{
		"HTTP/1":            "GET / HTTP/1.1\r\nHost: server\r\n\r\n",
		"another preface":   strings.Replace(http2.ClientPreface, "SM", "MS", 1),
		"part of a preface": http2.ClientPreface[:10],
		"nothing":           "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRawServer(t, Options{})
				p := connectRaw(t, h.listener)
				_, _ = io.WriteString(p.conn, words)
				<-p.done // after HandshakeTimeout
				p.expectEvents("closed")
				if got := h.refusalReasons(); !slices.Equal(got, []RefusalReason{RefusedHandshake}) {
					t.Errorf("got refusals %q", got)
				}
				checkRawEcho(connect(t, h.listener), 1)
			})
		})
	}
}
