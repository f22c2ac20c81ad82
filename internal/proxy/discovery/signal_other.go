//go:build !unix

package discovery

// ignoreReopen has no signal to ignore.
func ignoreReopen() {}
