package spelling_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/internal/spelling"
)

func TestNames(t *testing.T) {
	names := []string{"listeners", "podSelector", "egressFilter", "tls", "tcp", "port", "match", "front"}
	for text, want := range map[string]string{
		"lisstenerz": "listeners", "PodSelector": "podSelector", "podSelecter": "podSelector", "egress": "", "tlss": "tls",
		"ports": "port", "portMapping": "", "fornt": "front", "prot": "port", "mathc": "match",
		"": "", "listeners": "", "mode": "", "prefix": "", "x": "", "tl": "", strings.Repeat("x", 1000): "",
	} {
		if got, near := spelling.Meant(text, names); got != want || near != (want != "") {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{"egress": "egressFilter", "portMapping": "port", "tl": "", "": "", "pods": "podSelector", "listeners": ""} {
		if got, is := spelling.Completes(text, names); got != want || is != (want != "") {
			t.Errorf("%q: got the whole name %q, want %q", text, got, want)
		}
	}
	if _, near := spelling.Meant("a", nil); near {
		t.Error("got a name of none")
	}
}
