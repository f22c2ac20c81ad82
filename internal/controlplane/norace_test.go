//go:build !race

package controlplane

// raceDetector makes everything ten times slower: tests with many clients have fewer.
const raceDetector = false
