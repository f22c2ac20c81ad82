// Package incremental implements incremental computation: derived data stays current at a cost proportional to the
// change.
//
// In: facts, set in relations from outside (Set), and rules: functions that read relations and emit entries into
// others. Out: relations with the entries that the rules derive from the facts, and their changed keys (TakeChanged).
//
// A relation maps keys to entries. A rule is evaluated once for each key of its source relation (Each), or for each
// with several entries (EachSeveral). The graph records what each evaluation reads and emits. After changes of facts,
// Run repeats the evaluations that read something that changed, and stops where an evaluation emits the same entries as
// before. A rule must be a pure function of what it reads. The result then equals a full evaluation, for any order of
// changes.
//
// A rule declares the relations that it reads (Reads) and emits into (Emits), and gets a handle for each. The handles
// are its only access to relations: a rule cannot use a relation that it did not declare. Seal orders the rules by
// their declarations: a rule is evaluated after those that emit into the relations that it reads. The order in which
// rules are added has no effect. Rules that form a cycle are an error of the program, and Seal panics.
package incremental
