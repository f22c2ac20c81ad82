// Package stream has the two shapes of what sessions connect, and moves data between them.
//
// In: connections of any protocol. A byte stream has no boundaries; a message stream returns one message for each read
// and sends one with each write, empty ones too. Out: bytes or messages on the other side; boundaries are kept if both
// sides have them.
package stream
