// Package httpforward serves HTTP/1 clients and forwards their requests to HTTP/1 endpoints.
//
// In: connections, and the objects that say where each request goes. Out: requests to endpoints over connections that
// are kept, and responses to the clients. Each client connection has one goroutine; a request whose body is not there
// with its head has a second one. A request that fits into its buffers needs no memory allocation. Requests to other
// destinations are handed over as sessions.
package httpforward
