package grpcserver

// endedStreams remembers how the last streams of a connection ended. A frame of such a stream is a protocol violation
// if the client had ended the stream, and expected if the server had: the client sent it before it knew.
type endedStreams struct {
	last []endedStream // a ring of up to MaxEndedStreams
	next int
}

type endedStream struct {
	id uint32
	by endOfStream
}

// MaxEndedStreams is larger than the number of streams that a client can have open while its frames are in flight.
const MaxEndedStreams = 32

// endOfStream says how a stream ended.
type endOfStream uint8

const (
	endUnknown    endOfStream = iota // not one of the last streams
	endedByServer                    // the server ended it before the client did
	endedByClient                    // the client sent END_STREAM
	resetByClient                    // the client sent RST_STREAM
)

func (e *endedStreams) set(id uint32, by endOfStream) {
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

func (e *endedStreams) of(id uint32) endOfStream {
	for _, s := range e.last {
		if s.id == id {
			return s.by
		}
	}
	return endUnknown
}
