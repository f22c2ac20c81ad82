// Package incremental keeps what follows from facts current, with work in proportion to what changed.
//
// In: facts, put into relations from outside (Set), and rules: functions that read relations and emit entries into others. Out:
// relations that hold what the rules make of the facts, and the keys of them that changed (Changed).
//
// A relation maps keys to entries. A rule is evaluated once for each key of its source relation; the graph records what each
// evaluation reads and emits. When facts change, Run evaluates anew those that read something that changed, rules in the order in
// which they were added, and stops where an evaluation emits what it emitted before. A rule must be a pure function of what it
// reads; the result is then that of evaluating everything afresh, whatever the order of changes.
//
// A rule may read what earlier rules emit, never what it or later ones do: there are no cycles, and one pass is enough.
package incremental
