package jsonsocket

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// maxHeader limits a header, in bytes.
const maxHeader = 60 << 10

// version is the version of the protocol.
const version = 1

// Fields of headers and answers.
const (
	fieldVersion = "JSONSocketVersion"
	fieldStatus  = "JSONSocketStatus"
	fieldMessage = "JSONSocketMessage"
)

// Error is a handshake that failed.
type Error struct {
	Status int
	Text   string
}

func (e *Error) Error() string { return fmt.Sprintf("JSONSocket: status %d: %s", e.Status, e.Text) }

// Accept reads the header of a client. An error of type Error has been answered.
func Accept(s stream.Stream) (stream.Stream, map[string]any, error) {
	s, text, err := readValue(s)
	if err != nil {
		return nil, nil, err
	}
	header, err := checkHeader(text)
	if err != nil {
		refused := (*Error)(nil)
		errors.As(err, &refused)
		return nil, nil, errors.Join(err, Answer(s, refused.Status, refused.Text))
	}
	return s, header, nil
}

func checkHeader(text []byte) (map[string]any, error) {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, &Error{400, "the header is no JSON"}
	}
	header, _ := v.(map[string]any)
	n, is := header[fieldVersion].(float64)
	switch {
	case !is || n != float64(int(n)) || n < 0:
		return nil, &Error{400, "the header has no " + fieldVersion}
	case n > version:
		return nil, &Error{505, "the version is not supported"}
	}
	return header, nil
}

// Answer sends the answer to a header.
func Answer(s stream.Stream, status int, text string) error {
	return send(s, map[string]any{fieldVersion: version, fieldStatus: status, fieldMessage: text})
}

func send(s stream.Stream, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = s.Write(text)
	return err
}

// Connect sends a header and waits for the answer.
func Connect(s stream.Stream, header map[string]any) (stream.Stream, error) {
	header[fieldVersion] = version
	if err := send(s, header); err != nil {
		return nil, err
	}
	s, text, err := readValue(s)
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, &Error{502, "the answer is no JSON"}
	}
	status, is := answer[fieldStatus].(float64)
	if !is || status < 200 || status > 299 {
		message, _ := answer[fieldMessage].(string)
		return nil, &Error{int(status), message}
	}
	return s, nil
}

// Header returns the header that a cluster sends.
func Header(rules []config.HeaderRule, meta *metadata.Tree) (map[string]any, error) {
	out := metadata.Tree{Root: map[string]any{}}
	for i, r := range rules {
		set := r.Set
		if set == nil {
			v := meta.Lookup(metadata.ParsePath(r.Path.From))
			if v.Kind == metadata.Undefined {
				continue // the session has no such label
			}
			set = &config.HeaderSet{Key: r.Path.To, Value: v.Interface()}
		}
		if err := out.Set(metadata.ParsePath(set.Key), set.Value); err != nil {
			return nil, fmt.Errorf("header[%d]: %w", i, err)
		}
	}
	header, is := out.Root.(map[string]any)
	if !is {
		return nil, errors.New("header: what is copied to / is no object")
	}
	return header, nil
}

// readValue reads one value of JSON. It returns the stream of what follows.
func readValue(s stream.Stream) (stream.Stream, []byte, error) {
	buffer := make([]byte, stream.MaxMessage+1)
	if s.Messages() {
		n, err := s.Read(buffer)
		return s, buffer[:n], err
	}
	for have := 0; ; {
		n, err := s.Read(buffer[have:])
		have += n
		d := json.NewDecoder(bytes.NewReader(buffer[:have]))
		var v json.RawMessage
		switch failed := d.Decode(&v); {
		case failed == nil:
			rest := buffer[d.InputOffset():have]
			if len(rest) > 0 {
				s = &prefixed{s, rest}
			}
			return s, v, nil
		case !errors.Is(failed, io.EOF) && !errors.Is(failed, io.ErrUnexpectedEOF):
			return s, buffer[:have], nil // no JSON, as the caller will see
		}
		if err != nil {
			return nil, nil, err
		}
		if have >= maxHeader {
			return nil, nil, &Error{400, "the header is too long"}
		}
	}
}

// prefixed is a byte stream that begins with what was read before.
type prefixed struct {
	stream.Stream
	rest []byte
}

// Read implements stream.Stream.
func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.rest) > 0 {
		n := copy(b, p.rest)
		p.rest = p.rest[n:]
		return n, nil
	}
	return p.Stream.Read(b)
}
