package aggregate

import (
	"context"

	"anymesh.dev/anymesh/internal/aggregate/cache"
)

// stream writes events until the watch, the client or the context ends. It flushes when the next event is not there
// yet, and calls current when no initial events are left. If the context ends before the client, the last event is an
// error that says why, or a bookmark, so that the client resumes elsewhere.
func (s *Server) stream(
	ctx context.Context, to *watchWriter, events *cache.Watch, encode encoder, current func(),
) {
	defer to.close()
	if to.flush() != nil {
		return
	}
	for {
		if ctx.Err() != nil {
			if e, ok := lastEvent(ctx, events); ok {
				_ = write(to, e, encode) // The watch ends in any case.
			}
			return
		}
		e, ok, err := events.TryNext()
		if !events.Initial() {
			current()
		}
		if !ok && err == nil {
			if to.flush() != nil {
				return
			}
			e, err = events.Next(ctx)
		}
		switch {
		case err != nil && ctx.Err() != nil:
		case err != nil || write(to, e, encode) != nil:
			return
		}
	}
}

func write(to *watchWriter, e cache.Event, encode encoder) error {
	line, err := encode(e)
	if err == nil {
		_, err = to.Write(line)
	}
	return err
}
