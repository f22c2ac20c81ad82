// Package socket reads and writes sockets without a word to Go's scheduler.
//
// In: a connection. Out: the same one, whose reads and writes are the system's calls
// and nothing around them.
//
// Go announces each system call to its scheduler, since some last: a thread of the
// runtime (sysmon) then looks every 20 microseconds whether the processor should be
// given to another goroutine. A socket that does not block is never such a call. In a
// process that mostly waits, and then has a burst of small messages for many clients,
// that thread took a tenth of all processor time.
package socket
