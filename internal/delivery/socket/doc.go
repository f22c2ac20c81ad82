// Package socket serves many mostly idle connections with few goroutines and without a netpoller wakeup for each
// message.
//
// In: connections, and for each a task that runs when data may be available or when another goroutine wakes it. Out:
// runs of the tasks on few goroutines (WorkerPool), and connections whose reads and writes are plain system calls
// without the scheduler (Direct).
//
// The Go scheduler tracks system calls, because some block: while one runs, the sysmon thread checks every 20
// microseconds whether to hand the processor to another goroutine. Calls on nonblocking sockets never block. In a
// process that is mostly idle and then sends a burst of small messages to many clients, this thread used 10 % of the
// CPU time. A goroutine per connection used nearly as much again, for parking, wakeups and reads without data, and an
// 8 kB stack each. The netpoller wakes up for all input on its descriptors, even if no goroutine waits for it.
// Therefore a connection in a pool has its own duplicate of the descriptor, and the one of the net package is closed.
package socket
