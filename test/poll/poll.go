// Package poll lets tests wait for a state, instead of sleeping for a guessed time.
//
// In: a condition. Out: nothing, or a failed test that names the condition.
package poll

import (
	"testing"
	"time"
)

// limit is far longer than anything that a test waits for. It says nothing about how fast things are.
const limit = 20 * time.Second

// Until polls until ok returns true.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}
