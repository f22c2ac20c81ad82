// Package incremental implements incremental computation: derived data stays current at a cost proportional to the
// change.
//
// In: facts, set in relations from outside (Set), and rules: functions that read relations and emit entries into
// others. Out: relations with the entries that the rules derive from the facts, and their changed keys (TakeChanged).
//
// A relation maps keys to entries. A rule is evaluated once for each key of its source relation. The graph records what
// each evaluation reads and emits. After changes of facts, Run repeats the evaluations that read something that
// changed, rules in the order in which they were added, and stops where an evaluation emits the same entries as before.
// A rule must be a pure function of what it reads. The result then equals a full evaluation, for any order of changes.
//
// A rule may read relations that earlier rules emit into, but not those that it or later rules emit into: there are no
// cycles, and one pass is sufficient.
package incremental
