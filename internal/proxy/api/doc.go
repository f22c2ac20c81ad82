// Package api is the REST API of the proxy below /api/v1.
//
// In: requests of clients that were written for l7mp: paths, bodies, status codes and error texts are those of l7mp.
// Out: changes of a proxy, and its objects. Additions of our own are PUT, which updates an object without ending
// sessions, and POST of a whole configuration.
package api
