// Package conformance tests sidecar drivers: it runs the cases of test/cases with a driver and the program of its
// sidecar. A test calls Main, Run, RunBroken and RunUndeclared for its Sidecar; the README of package sidecar has an
// example.
//
// In: a driver and a program. Out: failed tests for requests that do not end as the interpreter decides, and for
// features that the driver declares without effect, or could declare.
package conformance
