// Package manifest reads objects from manifest files.
//
// In: files, folders or standard input with YAML or JSON documents of any kind. Out: the objects that dialects read, as
// an API server returns them, with file and line; skipped files, and the number of skipped objects; and findings about
// documents that an API server refuses. A Deployment or another workload becomes one pod, made from its template.
package manifest
