// Package compare finds the requests that two configurations treat differently.
//
// In: the states of two sets of manifests, of any dialects, or of one set with two sidecar drivers. Out: the requests
// that the configurations tell apart (package model/requests), asked in both, and every aspect in which the answers
// differ.
//
// Applications are the same in both if their pods have the same name: a workload of one dialect may be several of
// another. Answers are words that do not depend on a dialect: shares of pods, statuses, limits.
package compare
