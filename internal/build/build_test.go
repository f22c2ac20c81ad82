package build

import "testing"

func TestShortCommit(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for want, i := range map[string]Info{
		"-":             {},
		"0123456789ab":  {Commit: hash},
		"0123456789ab+": {Commit: hash, Modified: true},
		"012":           {Commit: "012"},
	} {
		if got := i.ShortCommit(); got != want {
			t.Errorf("%+v: got %q, want %q", i, got, want)
		}
	}
}
