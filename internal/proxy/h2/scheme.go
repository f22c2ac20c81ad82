package h2

// Scheme returns the scheme of the request of a client.
func (s *Stream) Scheme() string { return s.scheme }
