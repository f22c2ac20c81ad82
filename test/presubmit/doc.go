// Package presubmit tests the rules of this repository: allowed imports, file lengths, package comments and names.
//
// In: the source of this module, as listed by git and the go command. Out: failures with the file and the rule.
package presubmit
