// Package jsonsocket is the JSONSocket protocol, version 1: a header of JSON before the data of a stream, and an
// answer.
//
// In: a stream of another protocol. Out: the same stream after the handshake, and the header. Message streams have
// header and answer in one message each; byte streams have the data immediately after them.
package jsonsocket
