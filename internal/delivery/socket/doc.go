// Package socket serves many connections that mostly wait, at the price of the
// system's calls.
//
// In: connections, and for each a task to take when there is something to read, or
// when somebody has something to do with it. Out: the tasks, taken by few goroutines
// (WorkerPool); and connections whose reads and writes Go's scheduler does not hear of (Direct).
//
// Go announces each system call to its scheduler, since some last: a thread of the
// runtime (sysmon) then looks every 20 microseconds whether the processor should be
// given to another goroutine. Calls on a socket that does not block never last. In a
// process that waits, and then has a burst of small messages for many clients, that
// thread took a tenth of all processor time. A goroutine for each connection took nearly as
// much again, for being put to sleep and woken, for a read that finds nothing, and
// 8 kB of stack. And Go's poller is woken by whatever comes in on a connection of Go's,
// also where nobody waits for it there: one that a pool watches has a descriptor of its
// own, and Go's is closed.
package socket
