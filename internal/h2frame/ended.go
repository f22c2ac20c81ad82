package h2frame

// EndedStreams remembers how the last streams of a connection ended. A frame of such a stream is a protocol violation
// if the peer had ended the stream, and expected if this side had: the peer sent it before it knew.
type EndedStreams struct {
	last []endedStream // a ring of up to MaxEndedStreams
	next int
}

type endedStream struct {
	id uint32
	by End
}

// MaxEndedStreams is larger than the number of streams that a client can have open while its frames are in flight.
const MaxEndedStreams = 32

// End says how a stream ended.
type End uint8

// The ways in which a stream ended.
const (
	EndUnknown  End = iota // not one of the last streams
	EndedHere              // this side ended it before the peer did
	EndedByPeer            // the peer sent END_STREAM
	ResetByPeer            // the peer sent RST_STREAM
)

// Set remembers how a stream ended.
func (e *EndedStreams) Set(id uint32, by End) {
	for i := range e.last {
		if e.last[i].id == id {
			e.last[i].by = max(e.last[i].by, by)
			return
		}
	}
	if len(e.last) < MaxEndedStreams {
		e.last = append(e.last, endedStream{id, by})
		return
	}
	e.last[e.next] = endedStream{id, by}
	e.next = (e.next + 1) % MaxEndedStreams
}

// Of returns how a stream ended.
func (e *EndedStreams) Of(id uint32) End {
	for _, s := range e.last {
		if s.id == id {
			return s.by
		}
	}
	return EndUnknown
}
