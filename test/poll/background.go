package poll

import "testing"

// Job is a function that runs in another goroutine than that of the test.
type Job[T any] struct {
	value T
	err   error
	done  chan struct{}
}

// Background runs a function in a goroutine, which must not end the test.
func Background[T any](f func() (T, error)) *Job[T] {
	j := &Job[T]{done: make(chan struct{})}
	go func() {
		defer close(j.done)
		j.value, j.err = f()
	}()
	return j
}

// Done is closed when the function has ended.
func (j *Job[T]) Done() <-chan struct{} { return j.done }

// Wait waits for the function, and returns its value. Its error ends the test.
func (j *Job[T]) Wait(t testing.TB) T {
	t.Helper()
	<-j.done
	if j.err != nil {
		t.Fatal(j.err)
	}
	return j.value
}
