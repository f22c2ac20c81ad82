package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// arrival is an event at a client.
type arrival struct {
	event int
	at    time.Time
}

// watcher is a client with a watch and a connection of its own. It resumes from the last version that it got.
type watcher struct {
	client  *http.Client
	url     string
	query   url.Values
	version string
	// selects reports whether the watch has the events of a pod.
	selects func(*podState) bool

	mutex    sync.Mutex
	arrivals []arrival
	// initial is the number of ADDED events, ended the number of bookmarks that end them.
	initial, ended int
	// gone counts answers and events with 410.
	gone int
	// end is the reason for the end of the watch.
	end    error
	cancel context.CancelFunc
	done   chan error
	opened chan struct{}
}

// open starts the watch. It returns when the response began.
func (w *watcher) open(ctx context.Context) error {
	ctx, w.cancel = context.WithCancel(ctx)
	w.done, w.opened = make(chan error, 1), make(chan struct{})
	w.end = nil
	go func() {
		err := w.run(ctx)
		w.mutex.Lock()
		w.end = err
		w.mutex.Unlock()
		w.done <- err
	}()
	select {
	case <-w.opened:
		return nil
	case err := <-w.done:
		w.done <- err
		return fmt.Errorf("watch: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
}

// close ends the watch and its connection.
func (w *watcher) close() {
	if w.cancel != nil {
		w.cancel()
		<-w.done //nolint:errcheck // the watch was canceled
		w.client.CloseIdleConnections()
		w.cancel = nil
	}
}

func (w *watcher) run(ctx context.Context) error {
	query := url.Values{"watch": {"true"}, "allowWatchBookmarks": {"true"}, "timeoutSeconds": {"600"}}
	for key, values := range w.query {
		query[key] = values
	}
	w.mutex.Lock()
	if w.version != "" {
		query.Set("resourceVersion", w.version)
	}
	w.mutex.Unlock()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+"/api/v1/pods?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := w.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode == http.StatusGone {
			w.mutex.Lock()
			w.gone++
			w.mutex.Unlock()
		}
		return fmt.Errorf("status %d", response.StatusCode)
	}
	close(w.opened)
	reader := bufio.NewReaderSize(response.Body, 16<<10)
	for {
		line, err := readLine(reader)
		if err != nil {
			return err
		}
		if err := w.event(line, time.Now()); err != nil {
			return err
		}
	}
}

// readLine returns a line, which is valid until the next call.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return line, err
	}
	whole := bytes.Clone(line)
	rest, err := r.ReadBytes('\n')
	return append(whole, rest...), err
}

// event records an event. It scans the text, because a client that decodes a thousand copies of each object would take
// more time than the server.
func (w *watcher) event(line []byte, at time.Time) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if version, ok := textAfter(line, `"resourceVersion":"`); ok {
		w.version = version
	}
	switch {
	case bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)):
		if bytes.Contains(line, []byte(`k8s.io/initial-events-end`)) {
			w.ended++
		}
		return nil
	case bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)):
		w.initial++
		return nil
	case bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)):
		w.gone++
		return fmt.Errorf("%.500s", line)
	}
	text, ok := textAfter(line, string(sequenceKey))
	if !ok {
		return fmt.Errorf("an event has no annotation %s: %.300s", sequence, line)
	}
	n, err := strconv.Atoi(text)
	w.arrivals = append(w.arrivals, arrival{n, at})
	return err
}

func textAfter(line []byte, key string) (string, bool) {
	_, after, ok := bytes.Cut(line, []byte(key))
	if !ok {
		return "", false
	}
	text, _, ok := bytes.Cut(after, []byte(`"`))
	return string(text), ok
}

// take returns the events since the last call, and the reason for the end of the watch.
func (w *watcher) take() ([]arrival, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	all := w.arrivals
	w.arrivals = nil
	return all, w.end
}

// newWatchers returns clients that watch from the current version. selectors say what client number i selects.
func newWatchers(
	ctx context.Context, t target, n int, selectors func(i int) (url.Values, func(*podState) bool),
) ([]*watcher, error) {
	version, err := currentVersion(ctx, t)
	if err != nil {
		return nil, err
	}
	var all []*watcher
	for i := range n {
		w := &watcher{url: t.url, version: version}
		if w.client, err = t.client(); err != nil {
			return nil, err
		}
		w.query, w.selects = selectors(i)
		all = append(all, w)
	}
	return all, nil
}

func currentVersion(ctx context.Context, t target) (string, error) {
	c, err := t.client()
	if err != nil {
		return "", err
	}
	defer c.CloseIdleConnections()
	text, err := fetch(ctx, c, t.url+"/api/v1/pods?limit=1")
	if err != nil {
		return "", err
	}
	version, ok := textAfter(text, `"resourceVersion":"`)
	if !ok {
		return "", fmt.Errorf("a list of the %s has no version", t.name)
	}
	return version, nil
}

// openAll opens watches, a number of them at a time.
func openAll(ctx context.Context, watchers []*watcher, atOnce int) error {
	var failed atomic.Pointer[error]
	var running sync.WaitGroup
	limit := make(chan struct{}, atOnce)
	for _, w := range watchers {
		limit <- struct{}{}
		running.Go(func() {
			if err := w.open(ctx); err != nil {
				failed.Store(&err)
			}
			<-limit
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func closeAll(watchers []*watcher) {
	var running sync.WaitGroup
	for _, w := range watchers {
		running.Go(w.close)
	}
	running.Wait()
}

// reopen opens the watches that ended, from the current version.
func reopen(ctx context.Context, t target, watchers []*watcher) error {
	version := ""
	for _, w := range watchers {
		if _, end := w.take(); end == nil {
			continue
		}
		w.close()
		if version == "" {
			var err error
			if version, err = currentVersion(ctx, t); err != nil {
				return err
			}
		}
		w.version = version
		if err := w.open(ctx); err != nil {
			return err
		}
	}
	return nil
}
