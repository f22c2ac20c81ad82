package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEventOfAPodChangesItsVersionAndSequenceOnly(t *testing.T) {
	for _, metadata := range []string{
		`"resourceVersion":"99","annotations":{"` + sequence + `":"0000000000"}`,
		`"annotations":{"` + sequence + `":"0000000000"},"resourceVersion":"99"`,
	} {
		raw := `{"kind":"Pod","metadata":{"name":"p","namespace":"n",` + metadata + `},"spec":{"nodeName":"node-1"}}`
		p, err := newPodState(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		before := string(p.raw)
		first := p.next(100, 7)
		second := first.next(101, 12345)
		want := strings.NewReplacer(`"99"`, `"101"`, "0000000000", "0000012345").Replace(raw)
		if string(second.raw) != want || second.version != 101 || second.sequence != 12345 {
			t.Errorf("%s\n%s", second.raw, want)
		}
		if string(p.raw) != before || !strings.Contains(string(first.raw), `"0000000007"`) {
			t.Errorf("an earlier state changed: %s, %s", p.raw, first.raw)
		}
	}
}

func TestRowsAreCountedAcrossWrites(t *testing.T) {
	text := strings.Repeat(`{"annotations":{`+string(sequenceKey)+`1"}}`, 3) + string(sequenceKey[:len(sequenceKey)-1])
	for size := 1; size <= len(text); size++ {
		var r rowCounter
		for from := 0; from < len(text); from += size {
			_, _ = r.Write([]byte(text[from:min(from+size, len(text))])) // It has no errors.
		}
		if r.rows != 3 {
			t.Errorf("%d rows in parts of %d bytes", r.rows, size)
		}
	}
}

func TestContinueTokenIsAtTheStart(t *testing.T) {
	for start, want := range map[string]string{
		`{"kind":"PodList","metadata":{"resourceVersion":"1","continue":"next"},"items":[{"metadata":`: "next",
		`{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"continue":"x"}`:   "",
		`{"kind":"PodList"`: "",
	} {
		if got := continueToken([]byte(start)); got != want {
			t.Errorf("%s: %q, not %q", start, got, want)
		}
	}
}
