// Package presubmit has tests of the house rules: what may import what, how long a file may be, what must be said
// where.
//
// In: the source of this module, as git and the go command list it. Out: failures that name the file and the rule.
package presubmit
