package runtime

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// maxLine is the maximum size of a record in bytes; longer lines are split into records with tag P (partial).
const maxLine = 16 << 10

// logFile writes the output of a container in the CRI format: time, stream, F or P, text.
type logFile struct {
	path    string
	mu      sync.Mutex
	file    *os.File
	streams []*logStream
}

func openLog(path string) (*logFile, error) {
	l := &logFile{path: path}
	return l, l.reopen()
}

func (l *logFile) reopen() error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o755); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		l.file.Close()
	}
	l.file = f
	return nil
}

func (l *logFile) stream(name string) io.Writer {
	s := &logStream{log: l, name: name}
	l.streams = append(l.streams, s)
	return s
}

// Close writes incomplete lines and closes the file. It can be called twice.
func (l *logFile) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return
	}
	for _, s := range l.streams {
		if len(s.rest) > 0 {
			l.record(s.name, "F", s.rest)
			s.rest = nil
		}
	}
	l.file.Close()
	l.file = nil
}

// record writes one record. The caller holds mu.
func (l *logFile) record(stream, tag string, text []byte) {
	if l.file == nil {
		return
	}
	line := fmt.Appendf(nil, "%s %s %s ", time.Now().Format(time.RFC3339Nano), stream, tag)
	line = append(append(line, text...), '\n')
	_, _ = l.file.Write(line) // a full tmpfs must not stop the container
}

type logStream struct {
	log  *logFile
	name string
	rest []byte
}

// Write implements io.Writer.
func (s *logStream) Write(b []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	n := len(b)
	s.rest = append(s.rest, b...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		switch {
		case i >= 0 && i <= maxLine:
			s.log.record(s.name, "F", s.rest[:i])
			s.rest = s.rest[i+1:]
		case len(s.rest) > maxLine:
			s.log.record(s.name, "P", s.rest[:maxLine])
			s.rest = s.rest[maxLine:]
		default:
			s.rest = append([]byte(nil), s.rest...)
			return n, nil
		}
	}
}

// ReopenContainerLog implements the CRI; the kubelet calls it after log rotation.
func (r *Runtime) ReopenContainerLog(_ context.Context, id string) error {
	c, err := r.find(id)
	if err != nil {
		return err
	}
	return c.logs.reopen()
}
