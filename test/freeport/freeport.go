// Package freeport gives tests ports that nothing uses.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// The ports are below those from which Linux opens connections: none of these takes one before the test does.
const first, count = 10_000, 20_000

// given counts the ports that are given. It starts at random, so that processes that run side by side give others.
var given atomic.Uint32

func init() { given.Store(rand.Uint32N(count)) }

// Port returns a port that neither TCP nor UDP uses on any address. Calls of one process return different ports.
func Port(t testing.TB) int {
	t.Helper()
	for range count {
		port := first + int(given.Add(1)%count)
		if free(fmt.Sprint(":", port)) {
			return port
		}
	}
	t.Fatal("no free port")
	return 0
}

// Address returns the address 127.0.0.1 with a free port.
func Address(t testing.TB) string {
	t.Helper()
	return fmt.Sprint("127.0.0.1:", Port(t))
}

func free(address string) bool {
	stream, err := net.Listen("tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = stream.Close() }()
	packets, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	_ = packets.Close()
	return true
}
