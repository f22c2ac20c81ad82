package aggregate

import (
	"net/http"
	"sync"
	"time"
)

// watchWriter writes events, and ends the connection of a client that does not read for a time. A deadline of the
// server would end watches that have no events, too: that of an HTTP/2 stream counts when nothing is written.
type watchWriter struct {
	to      http.ResponseWriter
	control *http.ResponseController
	limit   time.Duration
	timer   *time.Timer
	// onSlow is called when the limit is reached.
	onSlow func()

	mutex sync.Mutex
	// closed is set when the handler ends, after which the response must not be used.
	closed bool
}

func newWatchWriter(to http.ResponseWriter, limit time.Duration, onSlow func()) *watchWriter {
	w := &watchWriter{to: to, control: http.NewResponseController(to), limit: limit, onSlow: onSlow}
	w.timer = time.AfterFunc(limit, w.expire)
	w.timer.Stop()
	return w
}

// expire makes the current write fail.
func (w *watchWriter) expire() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if !w.closed {
		w.onSlow()
		_ = w.control.SetWriteDeadline(time.Unix(1, 0)) // Both versions of HTTP support it.
	}
}

func (w *watchWriter) Write(line []byte) (int, error) {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.to.Write(line)
}

func (w *watchWriter) flush() error {
	w.timer.Reset(w.limit)
	defer w.timer.Stop()
	return w.control.Flush()
}

// close must be called before the handler ends.
func (w *watchWriter) close() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = true
	w.timer.Stop()
}
