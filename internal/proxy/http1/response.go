package http1

// Response is the head of a response. Its slices refer to the parsed data.
type Response struct {
	head
	Status int
	Reason []byte
}

// Parse parses the head at the start of the data and returns its size; 0 if it is not complete. Before from there is no
// end of the head.
func (r *Response) Parse(data []byte, from int, l Limits) (int, error) {
	size, err := headEnd(data, from, l)
	if size == 0 {
		return 0, err
	}
	first, rest, err := line(data[:size])
	if err != nil {
		return 0, err
	}
	// HTTP/1.1 200 OK; the space after the status may be missing
	if len(first) < 12 || first[8] != ' ' || len(first) > 12 && first[12] != ' ' {
		return 0, errStatusLine
	}
	if r.Minor, err = version(first[:8]); err != nil {
		return 0, errStatusLine
	}
	r.Status = 0
	for _, b := range first[9:12] {
		if b < '0' || b > '9' {
			return 0, errStatusLine
		}
		r.Status = r.Status*10 + int(b-'0')
	}
	r.Reason = nil
	if len(first) > 13 {
		r.Reason = first[13:]
	}
	if r.Status < 100 || r.Status > 599 || !all(r.Reason, valueByte) {
		return 0, errStatusLine
	}
	return size, r.parseFields(rest, l)
}

// HasBody reports whether the response to a request with a method may have a body.
func (r *Response) HasBody(method []byte) bool {
	return r.Status >= 200 && r.Status != 204 && r.Status != 304 && string(method) != "HEAD"
}
