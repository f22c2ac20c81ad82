package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// steadyCallers limits the number of concurrent calls of a steady load.
const steadyCallers = 64

// steady is a load that runs until it is stopped and records all failures.
type steady struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
	mu     sync.Mutex
	counts map[string]int
}

// startSteady starts to call each ?url= at ?rate= calls per second. Only one steady load runs at a time.
func (d *driver) startSteady(w http.ResponseWriter, r *http.Request) {
	var targets []*url.URL
	valid := true
	for _, text := range r.URL.Query()["url"] {
		target, err := url.Parse(text)
		valid = valid && err == nil && target.Host != ""
		targets = append(targets, target)
	}
	rate, rateErr := strconv.Atoi(r.URL.Query().Get("rate"))
	if !valid || len(targets) == 0 || rateErr != nil || rate < 1 || rate > 10000 {
		http.Error(w, "want ?url= and ?rate= from 1 to 10000", http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.steady != nil {
		http.Error(w, "a steady load is running; stop it with DELETE", http.StatusConflict)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &steady{cancel: cancel, counts: map[string]int{}}
	d.steady = s
	s.wait.Go(func() { s.run(ctx, d, targets, time.Second/time.Duration(rate)) })
}

// countsSteady returns the number of outcomes by version so far.
func (d *driver) countsSteady(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	s := d.steady
	d.mu.Unlock()
	s.writeCounts(w)
}

// stopSteady stops the load, waits for active calls, and returns the number of outcomes by version.
func (d *driver) stopSteady(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	s := d.steady
	d.steady = nil
	d.mu.Unlock()
	if s != nil {
		s.cancel()
		s.wait.Wait()
	}
	s.writeCounts(w)
}

func (s *steady) writeCounts(w http.ResponseWriter) {
	if s == nil {
		http.Error(w, "no steady load is running", http.StatusNotFound)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.counts)
}

// run calls each target at each tick. Calls without a free caller are skipped.
func (s *steady) run(ctx context.Context, d *driver, targets []*url.URL, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	free := make(chan struct{}, steadyCallers)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, target := range targets {
			select {
			case free <- struct{}{}:
				s.wait.Go(func() {
					// The end of the load does not cancel active calls.
					request, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
					name := d.try(d.client, "tcp", request, target).name()
					<-free
					s.mu.Lock()
					defer s.mu.Unlock()
					s.counts[name]++
				})
			default:
			}
		}
	}
}
