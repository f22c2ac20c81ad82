package pseudo

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
	"anymesh.dev/anymesh/internal/proxy/stream"
)

// Open returns the stream of a session to a pseudo cluster. Shared is what the sessions of the cluster share.
func Open(spec *config.ClusterSpec, shared *sync.Map, meta *metadata.Tree) (stream.Stream, error) {
	switch spec.Protocol {
	case config.Echo, config.Metric:
		return stream.NewPipe(nil), nil
	case config.Discard:
		return discard{stream.NewPipe(nil)}, nil
	case config.JSONEncap:
		return encap(meta)
	case config.JSONDecap:
		return stream.NewPipe(decap), nil
	case config.Logger:
		return logger(spec)
	case config.Sync:
		return join(spec, shared, meta)
	case config.Stdio:
		return stdio{stream.NewPipe(nil)}, nil
	}
	return nil, fmt.Errorf("clusters of protocol %s have no streams", spec.Protocol)
}

// discard takes everything and returns nothing.
type discard struct{ *stream.Pipe }

// Write implements stream.Stream.
func (discard) Write(b []byte) (int, error) { return len(b), nil }

// encapsulated is a message of JSONEncap and JSONDecap.
type encapsulated struct {
	Metadata json.RawMessage `json:"metadata,omitempty"`
	Payload  string          `json:"payload"`
}

func encap(meta *metadata.Tree) (stream.Stream, error) {
	head, err := json.Marshal(meta.Root)
	if err != nil {
		return nil, err
	}
	return stream.NewPipe(func(message []byte) []byte {
		out, err := json.Marshal(encapsulated{head, base64.StdEncoding.EncodeToString(message)})
		if err != nil {
			return nil // the head is JSON
		}
		return out
	}), nil
}

// decap returns the payload; an empty message if there is none.
func decap(message []byte) []byte {
	var in encapsulated
	if err := json.Unmarshal(message, &in); err != nil {
		return nil
	}
	out, err := base64.StdEncoding.DecodeString(in.Payload)
	if err != nil {
		return nil
	}
	return out
}

// logger writes what passes to a file. The file is appended to.
func logger(spec *config.ClusterSpec) (stream.Stream, error) {
	out, closeFile := io.Writer(os.Stdout), func() {}
	if spec.LogFile != "" && spec.LogFile != "-" {
		file, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		out, closeFile = file, func() { _ = file.Close() } // a log
	}
	p := stream.NewPipe(func(message []byte) []byte {
		_, _ = fmt.Fprintf(out, "%s%s\n", spec.LogPrefix, message) // a full disk does not end sessions
		return message
	})
	p.OnClose = closeFile
	return p, nil
}

// stdio is the standard input and output of the proxy.
type stdio struct{ *stream.Pipe }

// Read implements stream.Stream.
func (s stdio) Read(b []byte) (int, error) { return os.Stdin.Read(b) }

// ReadMessage hides that of the pipe.
func (s stdio) ReadMessage() ([]byte, error) {
	b := make([]byte, stream.MaxMessage)
	n, err := os.Stdin.Read(b)
	return b[:n], err
}

// Write implements stream.Stream.
func (s stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }

// Messages implements stream.Stream.
func (s stdio) Messages() bool { return false }

// domains are the members of a Sync cluster by label.
type domains struct {
	mu      sync.Mutex
	members map[string]map[*stream.Pipe]bool
}

// member is a session of a Sync cluster: it receives what the other members of its domain send.
type member struct {
	*stream.Pipe
	domains *domains
	label   string
}

func join(spec *config.ClusterSpec, shared *sync.Map, meta *metadata.Tree) (stream.Stream, error) {
	v := meta.Lookup(metadata.ParsePath(spec.Query))
	if v.Kind == metadata.Undefined {
		return nil, fmt.Errorf("the metadata has no label %s", spec.Query)
	}
	all, _ := shared.LoadOrStore("sync", &domains{members: map[string]map[*stream.Pipe]bool{}})
	m := &member{Pipe: stream.NewPipe(nil), domains: all.(*domains), label: string(v.Append(nil))}
	m.domains.mu.Lock()
	defer m.domains.mu.Unlock()
	if m.domains.members[m.label] == nil {
		m.domains.members[m.label] = map[*stream.Pipe]bool{}
	}
	m.domains.members[m.label][m.Pipe] = true
	m.OnClose = m.leave
	return m, nil
}

func (m *member) leave() {
	m.domains.mu.Lock()
	defer m.domains.mu.Unlock()
	delete(m.domains.members[m.label], m.Pipe)
	if len(m.domains.members[m.label]) == 0 {
		delete(m.domains.members, m.label)
	}
}

// Write implements stream.Stream. Members that do not read lose messages.
func (m *member) Write(b []byte) (int, error) {
	message := append(make([]byte, 0, len(b)), b...)
	m.domains.mu.Lock()
	defer m.domains.mu.Unlock()
	if !m.domains.members[m.label][m.Pipe] {
		return 0, net.ErrClosed
	}
	for other := range m.domains.members[m.label] {
		if other != m.Pipe {
			other.Offer(message)
		}
	}
	return len(b), nil
}

// CloseWrite implements stream.Stream: a member that sends no more goes on to receive.
func (m *member) CloseWrite() error { return stream.ErrNoHalfClose }
