package admission

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// One address cannot fill the memory with reviews, and the reviews of others are still handled.
func TestBodiesPerSource(t *testing.T) {
	handling, leave := make(chan struct{}), make(chan struct{})
	guard := Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		handling <- struct{}{}
		<-leave
	}), prometheus.NewRegistry())
	send := func(from string, size int) int {
		body := append([]byte(`{"apiVersion":"admission.k8s.io/v1","x":"`), bytes.Repeat([]byte("x"), size)...)
		body = append(body, `"}`...)
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		guard.ServeHTTP(w, r)
		return w.Code
	}
	ended := make(chan int)
	for range 2 { // 12 of 16 MiB
		go func() { ended <- send("10.0.0.1:1", 6<<20) }()
		<-handling
	}
	if got := send("10.0.0.1:2", 6<<20); got != http.StatusTooManyRequests {
		t.Errorf("a third review of the address: status %d, want 429", got)
	}
	go func() { ended <- send("10.0.0.2:1", 6<<20) }()
	<-handling
	close(leave)
	for range 3 {
		if got := <-ended; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
	}
	go func() { ended <- send("10.0.0.1:3", 6<<20) }() // the bytes are free again
	<-handling
	<-ended
}

// Reviews wait for the bytes of others, and nothing stays of those that end.
func TestBodiesOfAll(t *testing.T) {
	b := newBudget()
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	read := func(from string, size int) (func(), error) {
		r.RemoteAddr = from
		_, release, err := b.read(r, io.LimitReader(zeros{}, int64(size)))
		return release, err
	}
	first, err := read("10.0.0.1:1", MaxBodiesPerSource)
	if err != nil {
		t.Fatal(err)
	}
	second, err := read("10.0.0.2:1", MaxBodies-MaxBodiesPerSource)
	if err != nil {
		t.Fatal(err)
	}
	third, err := read("10.0.0.3:1", 1)
	if err == nil {
		t.Error("a review beyond the limit is read")
	}
	first()
	fourth, err := read("10.0.0.3:1", 1)
	if err != nil {
		t.Error(err)
	}
	for _, release := range []func(){first, second, third, fourth} {
		release()
	}
	if len(b.sources) != 0 || !b.all.TryAcquire(MaxBodies) {
		t.Errorf("sources %v", b.sources)
	}
}

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }
