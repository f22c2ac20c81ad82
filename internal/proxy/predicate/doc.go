// Package predicate evaluates JSON predicates, as those of draft-snell-json-test-07, on the metadata of sessions.
//
// In: a predicate as value of JSON, once. Out: a function that says whether it matches a document, without memory
// allocation for values that are strings or numbers. A predicate whose value has another type than it needs does not
// match.
package predicate
