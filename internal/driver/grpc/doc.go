// Package grpc is the sidecar driver for applications that are their own proxy: gRPC libraries with xDS ("proxyless").
//
// In: the pod, and the view of its workload. Out: variables of the application with the bootstrap configuration of its
// gRPC library, and xDS resources in the part of the API that gRPC libraries understand (gRFC A27, A28, A29, A31, A36,
// A41, A44).
package grpc
