package datagram

import "time"

// Begin makes the listener accept new peers, until its owner stops it.
func (l *Listener) Begin(owner *Terms) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner == owner && !l.stopped && !l.closed {
		l.begun = true
		l.expireAfter(owner.Idle)
	}
}

// Stop makes the listener accept no new peers. The socket is closed when it has no peers anymore. If peers may be idle
// for ever, they may be so for this time from now on. It does nothing if there is another owner, and reports whether
// there are peers.
func (l *Listener) Stop(owner *Terms, idle time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner != owner || l.stopped || l.closed {
		return false
	}
	l.begun, l.stopped = false, true
	if owner.Idle == 0 {
		l.expireAfter(idle)
	}
	l.closeUnused()
	return !l.closed
}

// Take gives a stopped listener with its peers to another owner, who begins it. It reports false if it is closed.
func (l *Listener) Take(owner *Terms) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.stopped || l.closed {
		return false
	}
	l.owner, l.stopped = owner, false
	return true
}

// Closed reports whether the socket is closed.
func (l *Listener) Closed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close closes the socket and all streams. It does nothing if there is another owner.
func (l *Listener) Close(owner *Terms) {
	l.mu.Lock()
	if l.owner != owner {
		l.mu.Unlock()
		return
	}
	all := l.close()
	l.mu.Unlock()
	for _, p := range all {
		_ = p.Close() // it has no error
	}
}

// Abandon closes the socket and all streams of a listener that is stopped.
func (l *Listener) Abandon() {
	if unowned := new(Terms); l.Take(unowned) {
		l.Close(unowned)
	}
}

// forget makes the next packet of the peer start a new stream.
func (l *Listener) forget(p *Peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.peers[p.addr] == p {
		delete(l.peers, p.addr)
		l.closeUnused()
	}
}

// closeUnused closes the socket of a stopped listener without peers. It requires the lock.
func (l *Listener) closeUnused() {
	if l.stopped && len(l.peers) == 0 {
		l.close()
	}
}

// close closes the socket, and returns the streams. It requires the lock, so that the address is free for those who
// see that the listener is closed.
func (l *Listener) close() []*Peer {
	if !l.closed {
		l.begun, l.closed = false, true
		l.expireAfter(0)
		_ = l.conn.Close() // interrupts Serve
	}
	all := make([]*Peer, 0, len(l.peers))
	for _, p := range l.peers {
		all = append(all, p)
	}
	return all
}

// expireAfter closes streams without packets for a time from now on; 0 never. It requires the lock.
func (l *Listener) expireAfter(idle time.Duration) {
	if l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
	if idle > 0 {
		l.idle = make(chan struct{})
		go l.expire(idle, l.idle)
	}
}
