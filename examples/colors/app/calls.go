package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// concurrentCalls limits the calls of one list that run at the same time.
const concurrentCalls = 64

// listedCall is a call of a list.
type listedCall struct {
	Method string            `json:"method,omitempty"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
}

// timedOutcome is the outcome of a listed call. Seconds is the time from its start to its end.
type timedOutcome struct {
	outcome
	Seconds float64 `json:"seconds"`
}

// serveCalls makes the calls of a list, several at the same time and each over a new connection. It responds with their
// outcomes, in the order of the list. A call of tcp://HOST:PORT/hold/DURATION fails if the connection ends earlier.
func (d *driver) serveCalls(w http.ResponseWriter, r *http.Request) {
	var calls []listedCall
	if err := json.NewDecoder(r.Body).Decode(&calls); err != nil {
		http.Error(w, "want a list of calls: "+err.Error(), http.StatusBadRequest)
		return
	}
	outcomes := make([]timedOutcome, len(calls))
	free := make(chan struct{}, concurrentCalls)
	var wait sync.WaitGroup
	for i, c := range calls {
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			outcomes[i] = d.tryListed(r, c)
		})
	}
	wait.Wait()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(outcomes)
}

func (d *driver) tryListed(r *http.Request, c listedCall) timedOutcome {
	target, err := url.Parse(c.URL)
	if err != nil {
		return timedOutcome{outcome: outcome{Error: err.Error()}}
	}
	request, err := http.NewRequestWithContext(r.Context(), c.Method, "/", nil)
	if err != nil {
		return timedOutcome{outcome: outcome{Error: err.Error()}}
	}
	for name, value := range c.Header {
		request.Header.Set(callPrefix+name, value)
	}
	began := time.Now()
	if wait, is := strings.CutPrefix(target.Path, "/hold/"); is && target.Scheme == "tcp" {
		name, err := hold(r.Context(), target.Host, wait)
		if err != nil {
			return timedOutcome{outcome{Error: err.Error()}, time.Since(began).Seconds()}
		}
		return timedOutcome{outcome{Status: http.StatusOK, Version: name}, time.Since(began).Seconds()}
	}
	made := d.try(newOneCallClient("tcp"), "tcp", request, target)
	return timedOutcome{made, time.Since(began).Seconds()}
}
