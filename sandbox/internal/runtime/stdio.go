package runtime

import (
	"io"
	"os"
	"sync"

	"github.com/creack/pty"
)

// connect connects the standard streams: for a container to its log and attached clients, for exec to the caller.
func (p *process) connect(l launchSpec, childFiles *closers) error {
	out, errOut := l.out, l.err
	if l.logs != nil {
		p.fanout = newFanout()
		out = io.MultiWriter(l.logs.stream("stdout"), p.fanout.writer("stdout"))
		errOut = io.MultiWriter(l.logs.stream("stderr"), p.fanout.writer("stderr"))
	}
	if l.tty {
		return p.connectTTY(l, out, childFiles)
	}
	for _, s := range []struct {
		to   io.Writer
		file *io.Writer
	}{{out, &p.cmd.Stdout}, {errOut, &p.cmd.Stderr}} {
		if s.to == nil {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		childFiles.add(w)
		*s.file = w
		p.pump(s.to, r)
	}
	if !l.stdin {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	childFiles.add(r)
	p.cmd.Stdin = r
	p.stdin = &stdinHub{w: w, once: l.stdinOnce, end: w.Close}
	p.feed(l.in)
	return nil
}

func (p *process) connectTTY(l launchSpec, out io.Writer, childFiles *closers) error {
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	childFiles.add(slave)
	p.tty = master
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	l.spec.TTY = true
	if out == nil {
		out = io.Discard
	}
	p.pump(out, master)
	if l.stdin {
		// Send Ctrl-D: closing would hang up the terminal.
		p.stdin = &stdinHub{w: master, once: l.stdinOnce, end: func() error {
			_, err := master.Write([]byte{4})
			return err
		}}
		p.feed(l.in)
	}
	return nil
}

// pump copies output until all processes have closed the other end. Reads from a terminal then return EIO.
func (p *process) pump(to io.Writer, from *os.File) {
	p.pumps.Go(func() {
		_, _ = io.Copy(to, from)
		if from != p.tty {
			from.Close()
		}
	})
}

func (p *process) feed(in io.Reader) {
	if in == nil {
		return
	}
	go func() {
		_, _ = io.Copy(p.stdin, in)
		p.stdin.finish()
	}()
}

func (p *process) closePipes() {
	if p.tty != nil {
		p.tty.Close()
	}
	if p.stdin != nil {
		p.stdin.close()
	}
}

// stdinHub is the standard input of a container, which attached clients write to.
type stdinHub struct {
	mu   sync.Mutex
	w    *os.File
	once bool // close it when the first attached client disconnects
	end  func() error
	shut bool
}

// Write implements io.Writer.
func (s *stdinHub) Write(b []byte) (int, error) { return s.w.Write(b) }

// finish closes the input if the container is configured with stdinOnce.
func (s *stdinHub) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once && !s.shut {
		s.shut = true
		_ = s.end()
	}
}

func (s *stdinHub) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.shut {
		s.shut = true
		s.w.Close()
	}
}

// fanout copies output to attached clients. A client is dropped when a write fails.
type fanout struct {
	mu     sync.Mutex
	subs   map[*subscriber]bool
	closed chan struct{}
}

type subscriber struct{ out, err io.Writer }

func newFanout() *fanout { return &fanout{subs: map[*subscriber]bool{}, closed: make(chan struct{})} }

func (f *fanout) add(out, err io.Writer) (remove func()) {
	s := &subscriber{out, err}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs[s] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, s)
	}
}

func (f *fanout) close() { close(f.closed) }

func (f *fanout) writer(stream string) io.Writer { return fanoutWriter{f, stream} }

type fanoutWriter struct {
	f      *fanout
	stream string
}

// Write implements io.Writer. It never fails, so that the log continues.
func (w fanoutWriter) Write(b []byte) (int, error) {
	w.f.mu.Lock()
	defer w.f.mu.Unlock()
	for s := range w.f.subs {
		to := s.out
		if w.stream == "stderr" {
			to = s.err
		}
		if to == nil {
			continue
		}
		if _, err := to.Write(b); err != nil {
			delete(w.f.subs, s)
		}
	}
	return len(b), nil
}
