// Package tlsfile has TLS configurations whose certificates are files.
//
// In: paths of PEM files. Out: configurations for listeners and connections. Files are read again when they change, so
// that certificates can be rotated while the proxy runs.
package tlsfile
