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

// steadyCallers bounds how many calls of a steady load are on their way at once.
const steadyCallers = 64

// steady is a load that goes on until it is told to stop, and that forgets no failure.
type steady struct {
	cancel context.CancelFunc
	wait   sync.WaitGroup
	mu     sync.Mutex
	counts map[string]int
}

// startSteady begins to call ?url= at ?rate= calls a second. There is one such load at a time.
func (d *driver) startSteady(w http.ResponseWriter, r *http.Request) {
	target, err := url.Parse(r.URL.Query().Get("url"))
	rate, rateErr := strconv.Atoi(r.URL.Query().Get("rate"))
	if err != nil || target.Host == "" || rateErr != nil || rate < 1 || rate > 10000 {
		http.Error(w, "give ?url= and ?rate= from 1 to 10000", http.StatusBadRequest)
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.steady != nil {
		http.Error(w, "there is a steady load already; DELETE it first", http.StatusConflict)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &steady{cancel: cancel, counts: map[string]int{}}
	d.steady = s
	s.wait.Go(func() { s.run(ctx, d, target, time.Second/time.Duration(rate)) })
}

// stopSteady ends the load, waits for the calls that are on their way, and answers with the number of each outcome.
func (d *driver) stopSteady(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	s := d.steady
	d.steady = nil
	d.mu.Unlock()
	if s == nil {
		http.Error(w, "there is no steady load", http.StatusNotFound)
		return
	}
	s.cancel()
	s.wait.Wait()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.counts)
}

// run makes a call at each tick; a tick for which no caller is free is left out.
func (s *steady) run(ctx context.Context, d *driver, target *url.URL, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	free := make(chan struct{}, steadyCallers)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		select {
		case free <- struct{}{}:
			s.wait.Go(func() {
				// The load's end cuts no call short.
				request, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
				name := d.try(d.client, request, target).name()
				<-free
				s.mu.Lock()
				defer s.mu.Unlock()
				s.counts[name]++
			})
		default:
		}
	}
}
