package lab

import (
	"bufio"
	"encoding/json"
	"io"
	"sync"
)

// Event is a startup step, or the error that ended the startup.
type Event struct {
	Cluster string  `json:"cluster,omitempty"`
	Step    string  `json:"step,omitempty"`
	After   float64 `json:"after,omitempty"` // seconds since the supervisor started
	Done    bool    `json:"done,omitempty"`  // the whole lab is ready
	Err     string  `json:"error,omitempty"`
}

// Steps are the startup steps of each cluster in their usual order.
var Steps = []string{"control plane", "API server", "node", "DNS", "Services"}

// eventWriter sends events through a pipe. Write errors are ignored, because the reader may have exited.
type eventWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (e *eventWriter) send(ev Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = json.NewEncoder(e.w).Encode(ev)
}

// ReadEvents calls f for each event until the pipe is closed.
func ReadEvents(r io.Reader, f func(Event)) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var ev Event
		if json.Unmarshal(lines.Bytes(), &ev) == nil {
			f(ev)
		}
	}
}
