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
//
// A relation has a slot for each key with entries or readers, a rule has a cell for each key that it is evaluated for.
// Slots and cells are numbered and refer to each other by number, in pages without pointers: a graph has millions of
// them, and their size is most of its memory. Values are objects of their own. They are never modified, so that a rule
// may keep a reference to what it has read.
package incremental
