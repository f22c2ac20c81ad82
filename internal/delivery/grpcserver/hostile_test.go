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
	// muteMethod never ends by itself, and blockedMethod does not even take in its first message.
	muteMethod    = "/test.Test/Mute"
	blockedMethod = "/test.Test/Blocked"
)

// hostile is a server for clients that break the rules.
type hostile struct {
	*running
	l     *pipes
	sinks sinks
}

func newHostile(t *testing.T, o Options) *hostile {
	h := &hostile{l: newPipes()}
	o.Methods = map[string]func(*Stream) Call{
		echoMethod: echo,
		sinkMethod: h.sinks.open,
		muteMethod: func(*Stream) Call { return functions{take: func([]byte) {}, end: func(error) {}} },
		blockedMethod: func(s *Stream) Call {
			return functions{take: func([]byte) { <-s.Context().Done() }, end: func(error) {}}
		},
	}
	h.running = start(t, h.l, o)
	return h
}

// answers is whether a stream of the peer gets what it should.
func answers(p *peer, id uint32) {
	p.t.Helper()
	p.open(id, echoMethod)
	p.send(id, 7, true)
	p.expect(fmt.Sprintf("HEADERS %d status=200", id), fmt.Sprintf("DATA %d 12", id), fmt.Sprintf("HEADERS %d grpc-status=0", id))
}

func TestWhatClientsMustNotDo(t *testing.T) {
	for subject, table := range map[string][]broken{"framing": framing, "streams": streamStates, "headers": headerBlocks, "flow control": flowControl, "messages": messages} {
		for _, tt := range table {
			t.Run(subject+"/"+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHostile(t, Options{MessageSize: 1 << 20})
					p, other := connect(t, h.l), connect(t, h.l)
					tt.do(p)
					p.expect(tt.want...)
					if !slices.Contains(tt.want, "closed") {
						answers(p, 21)
					}
					answers(other, 1)
				})
			})
		}
	}
}

func TestWhoDoesNotSpeakHTTP2IsRefused(t *testing.T) {
	for name, words := range map[string]string{
		"HTTP/1":            "GET / HTTP/1.1\r\nHost: server\r\n\r\n",
		"another preface":   strings.Replace(http2.ClientPreface, "SM", "MS", 1),
		"part of a preface": http2.ClientPreface[:10],
		"nothing":           "",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHostile(t, Options{})
				p := silent(t, h.l)
				_, _ = io.WriteString(p.conn, words)
				<-p.done // which takes as long as a handshake may
				p.expect("closed")
				if got := h.refusals(); !slices.Equal(got, []Refusal{Handshake}) {
					t.Errorf("refused %q", got)
				}
				answers(connect(t, h.l), 1)
			})
		})
	}
}
