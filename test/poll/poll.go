// Package poll waits for conditions in tests without sleeping for a guessed time.
//
// In: a condition, or a function for another goroutine. Out: nothing, or a failed test that names the condition; the
// result of the function.
package poll

import (
	"testing"
	"time"
)

// limit is much longer than any expected wait. It is not a performance requirement.
const limit = 20 * time.Second

// Until polls until ok returns true.
func Until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timeout after %v: %s", limit, what)
		}
	}
}
