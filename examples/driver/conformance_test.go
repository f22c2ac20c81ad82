package main

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/sidecar/conformance"
	"example.com/tiny/tiny"
)

// withTiny is a pod with the sidecar of driver tiny. Its program is that of this test.
var withTiny = conformance.Sidecar{Name: tiny.Name, Driver: tiny.Driver{}, Program: "/proc/self/exe"}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == tiny.Name {
		os.Exit(run(tiny.Name, tiny.Follow))
	}
	conformance.Main(m, withTiny)
}

// The sidecar does in all cases what its driver declares.
func TestConformance(t *testing.T) { conformance.Run(t, withTiny) }

// If the driver did not do what it declares, the cases would tell: without a feature, requests fail that are about it.
func TestBroken(t *testing.T) {
	if unseen := conformance.RunBroken(t, withTiny); len(unseen) > 0 {
		t.Logf("no case that the driver runs is about %v", unseen)
	}
}
