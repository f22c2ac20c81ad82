// Package poll waits for conditions in tests without sleeping for a guessed time.
//
// In: a condition, or a function for another goroutine. Out: nothing, or a failed test that names the condition; the
// result of the function.
package poll

import (
	"testing"
	"time"
)

// limit catches hangs only. On a machine with other work, everything takes long.
const limit = 2 * time.Minute

// Until polls until ok returns true.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout after %v: %s", limit, what)
		}
	}
}
