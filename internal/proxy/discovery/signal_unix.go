//go:build unix

package discovery

import (
	"os/signal"
	"syscall"
)

// ignoreReopen ignores the signal by which the agent asks for the access log to be opened again: the log notices itself
// that its file was renamed.
func ignoreReopen() { signal.Ignore(syscall.SIGUSR1) }
