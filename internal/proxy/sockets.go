package proxy

import (
	"fmt"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// socketOf returns what only one listener can have: a port or a file. It is empty for listeners that share one.
func socketOf(s *config.ListenerSpec) string {
	for s.Transport != nil {
		s = s.Transport
	}
	switch {
	case s.Captured != nil || s.Protocol == config.Stdio:
		return ""
	case s.Protocol == config.UnixDomainSocket:
		return "unix:" + s.Filename
	case s.Protocol == config.UDP:
		return fmt.Sprintf("udp:%d", s.Port)
	}
	return fmt.Sprintf("tcp:%d", s.Port)
}

// clashing reports whether two listeners cannot listen at once.
func clashing(a, b config.ListenerSpec) bool {
	if a.Captured != nil && b.Captured != nil {
		return false // they share a port
	}
	a.Captured, b.Captured = nil, nil
	socket := socketOf(&a)
	return socket != "" && socket == socketOf(&b)
}

// handover are listeners that a change removes, whose sockets new listeners may take.
type handover struct {
	proxy   *Proxy
	leaving map[string][]*listener // by socket
	closed  []*listener
}

// handover requires the lock.
func (p *Proxy) handover(leaving []string) *handover {
	h := &handover{proxy: p, leaving: map[string][]*listener{}}
	for _, name := range leaving {
		if l := p.listeners[name]; l != nil {
			spec := l.current().Spec
			if socket := socketOf(&spec); socket != "" {
				h.leaving[socket] = append(h.leaving[socket], l)
			}
		}
	}
	return h
}

// free closes the socket that a new listener needs, if one that is removed has it.
func (h *handover) free(l config.Listener) {
	socket := socketOf(&l.Spec)
	for _, old := range h.leaving[socket] {
		old.closeSocket()
		h.closed = append(h.closed, old)
	}
	delete(h.leaving, socket)
}

// undo opens the sockets again.
func (h *handover) undo() {
	for _, old := range h.closed {
		spec := old.current()
		again, err := h.proxy.listen(spec, old.rules.Load())
		if err != nil {
			h.proxy.log.Error("a listener does not have its socket again", "listener", spec.Name, "error", err)
			continue
		}
		h.proxy.listeners[spec.Name] = again
		again.begin()
	}
}
