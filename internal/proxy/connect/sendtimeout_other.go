//go:build !linux

package connect

import (
	"errors"
	"syscall"
)

// sendTimeout returns what refuses connections: this system has no such limit.
func sendTimeout(int) func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error {
		return errors.New("send_timeout needs Linux")
	}
}
