// Package manifest reads objects from files as users have them.
//
// In: names of files and folders, or standard input, with YAML or JSON documents of any kind. Out: the objects that dialects read, as an
// API server would give them, where each stands, what was passed over, and findings about what an API server would not take.
// Workloads such as Deployments count as one pod each: what their template says.
package manifest
