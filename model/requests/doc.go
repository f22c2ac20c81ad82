// Package requests derives the requests that configurations tell apart, from the conditions in them: hosts, paths,
// methods, headers, query parameters, clients and certificates.
//
// In: the views of one workload, such as those of two configurations. Out: requests that have each condition and lack
// it, alone and together with the others. Two views that decide these requests equally differ at most where conditions
// are regular expressions or combinations of which there are too many; the result names those.
//
// The result depends on its input only: no request is random.
package requests
