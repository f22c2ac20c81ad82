package freeport

import "testing"

func TestPortsAreDifferent(t *testing.T) {
	given := map[int]bool{}
	for range 500 {
		port := Port(t)
		if given[port] || port < first || port >= first+count {
			t.Fatalf("port %d; given: %v", port, given)
		}
		given[port] = true
	}
}
