package stream

import (
	"testing"
	"time"
)

// Whoever closes a pipe holds no lock of it: what closing calls may use the pipe, or wait for a lock whose owner does.
func TestOnCloseMayUseThePipe(t *testing.T) {
	p := NewPipe(nil)
	calls := 0
	p.OnClose = func() {
		calls++
		if p.Offer([]byte("late")) {
			t.Error("a closed pipe accepts a message")
		}
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = p.Close(), p.Close() // they have no error
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Fatal("closing the pipe never ends")
	}
	if calls != 1 {
		t.Errorf("OnClose was called %d times, want once", calls)
	}
}
