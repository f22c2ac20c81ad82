// Package accesslog writes a line for each request and each session that has ended.
//
// In: entries, at any rate. Out: text or JSON in a file, written in the background. A file that was renamed is opened
// again under its name. Lines are dropped and counted if the file is too slow.
package accesslog

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Entry is a request or a session.
type Entry struct {
	Time     time.Time `json:"time"`
	Listener string    `json:"listener"`
	// Protocol is that of the listener.
	Protocol string `json:"protocol"`
	// Session is the name in the list of sessions.
	Session string `json:"session"`
	Client  string `json:"client,omitempty"`
	// Of HTTP requests.
	Method string `json:"method,omitempty"`
	Host   string `json:"host,omitempty"`
	Path   string `json:"path,omitempty"`
	// Status is the status of the response; 0 if there was none.
	Status   int     `json:"status"`
	Cluster  string  `json:"cluster,omitempty"`
	Endpoint string  `json:"endpoint,omitempty"`
	Retries  int     `json:"retries"`
	Received int64   `json:"received_bytes"`
	Sent     int64   `json:"sent_bytes"`
	Seconds  float64 `json:"seconds"`
	Trace    string  `json:"trace,omitempty"`
	Error    string  `json:"error,omitempty"`

	// What formats with operators have besides.

	// Address is that of the endpoint.
	Address string `json:"-"`
	// Version is the version of HTTP, as HTTP/1.1; empty for sessions.
	Version string `json:"-"`
	// Flags tell why a request has no response of an endpoint.
	Flags string `json:"-"`
	// Metadata are those of the session.
	Metadata map[string]any `json:"-"`
	// Request returns a field, or a pseudo-header, of the request as it was forwarded. Response returns a field of the
	// endpoint's response. Both are nil for sessions.
	Request, Response func(name string) (string, bool) `json:"-"`
}

// limit is the size of what waits, in bytes. What exceeds it is dropped.
const limit = 4 << 20

// delay is how long a line waits for others.
const delay = 100 * time.Millisecond

// Log is an access log.
type Log struct {
	// Dropped counts lines that were dropped.
	Dropped atomic.Uint64

	path   string
	format func(to []byte, e *Entry) []byte
	out    io.Writer
	file   *os.File // nil for standard output and standard error

	mu     sync.Mutex
	buffer []byte
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}
}

// Open opens the log of the settings.
func Open(a *config.Admin) (*Log, error) {
	l := &Log{path: a.AccessLogPath, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	switch {
	case a.AccessLogText != "":
		l.format, err = textFormat(a.AccessLogText)
	case len(a.AccessLogFields) > 0:
		l.format, err = fieldsFormat(a.AccessLogFields)
	case a.AccessLogFormat == "json":
		l.format = appendJSON
	default:
		l.format = func(to []byte, e *Entry) []byte { return e.text(to) }
	}
	if err != nil {
		return nil, err
	}
	switch l.path {
	case "stdout":
		l.out = os.Stdout
	case "stderr":
		l.out = os.Stderr
	default:
		if err := l.open(); err != nil {
			return nil, err
		}
	}
	go l.run()
	return l, nil
}

func (l *Log) open() error {
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close() // the renamed file
	}
	l.file, l.out = file, file
	return nil
}

// Write adds a line.
func (l *Log) Write(e *Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buffer) > limit {
		l.Dropped.Add(1)
		return
	}
	if len(l.buffer) == 0 {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	l.buffer = l.format(l.buffer, e)
}

// appendJSON appends a line of JSON.
func appendJSON(to []byte, e *Entry) []byte { return appendValue(to, e) }

func appendValue(to []byte, value any) []byte {
	line, err := json.Marshal(value)
	if err != nil {
		line = strconv.AppendQuote(nil, err.Error()) // all fields can be encoded
	}
	return append(append(to, line...), '\n')
}

// text appends the entry as text. Texts of clients are quoted.
func (e *Entry) text(to []byte) []byte {
	to = e.Time.UTC().AppendFormat(to, time.RFC3339Nano)
	to = fmt.Appendf(to, " %s %s %q %s", e.Listener, e.Protocol, e.Session, orDash(e.Client))
	if e.Method != "" {
		to = fmt.Appendf(to, " %q %q %q", e.Method, e.Host, e.Path)
	}
	to = fmt.Appendf(to, " status=%d cluster=%s endpoint=%s retries=%d received=%d sent=%d seconds=%.6f",
		e.Status, orDash(e.Cluster), orDash(e.Endpoint), e.Retries, e.Received, e.Sent, e.Seconds)
	if e.Trace != "" {
		to = fmt.Appendf(to, " trace=%s", e.Trace)
	}
	if e.Error != "" {
		to = fmt.Appendf(to, " error=%q", e.Error)
	}
	return append(to, '\n')
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// run writes what waits.
func (l *Log) run() {
	defer close(l.done)
	for ended := false; !ended; {
		select {
		case <-l.stop:
			ended = true
		case <-l.wake:
			select {
			case <-l.stop:
				ended = true
			case <-time.After(delay):
			}
		}
		l.reopen()
		l.flush()
	}
	if l.file != nil {
		_ = l.file.Close() // a log
	}
}

func (l *Log) flush() {
	l.mu.Lock()
	data := l.buffer
	l.buffer = nil
	l.mu.Unlock()
	if len(data) > 0 {
		_, _ = l.out.Write(data) // there is no other place to tell it
	}
}

// reopen opens the file again if another one, or none, has its name.
func (l *Log) reopen() {
	if l.file == nil {
		return
	}
	now, err := os.Stat(l.path)
	was, failed := l.file.Stat()
	if failed == nil && (err != nil || !os.SameFile(now, was)) {
		_ = l.open() // the old file goes on
	}
}

// Close writes what waits, and closes the file.
func (l *Log) Close() {
	close(l.stop)
	<-l.done
}
