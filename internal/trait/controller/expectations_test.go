package controller

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An expectation that no event ends keeps an object from being written again.
func TestExpectationsEnd(t *testing.T) {
	type event struct {
		version   string
		isDeleted bool
	}
	for name, tc := range map[string]struct {
		before, after []event // of the answer, which has version 10
		want          bool
	}{
		"no event":                        {want: true},
		"an older event before":           {before: []event{{"9", false}}, want: true},
		"an older event after":            {after: []event{{"9", false}}, want: true},
		"the event after":                 {after: []event{{"10", false}}},
		"the event before":                {before: []event{{"10", false}}},
		"a later event before":            {before: []event{{"11", false}}},
		"a deletion after":                {after: []event{{"11", true}}},
		"event and deletion before":       {before: []event{{"10", false}, {"11", true}}},
		"a deletion without its version":  {before: []event{{"9", true}}},
		"event before and deletion after": {before: []event{{"10", false}}, after: []event{{"11", true}}},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			x := newExpectations()
			o := &unstructured.Unstructured{}
			o.SetAPIVersion("v1")
			o.SetKind("Service")
			o.SetName("site")
			deliver := func(events []event) {
				for _, e := range events {
					o.SetResourceVersion(e.version)
					x.observe(o, e.isDeleted)
				}
			}
			x.begin(KeyOf(o), "content", now)
			deliver(tc.before)
			x.written(KeyOf(o), "10")
			deliver(tc.after)
			if got := x.has(KeyOf(o), "content", now); got != tc.want {
				t.Errorf("an event is expected: %t, want %t", got, tc.want)
			}
		})
	}
}
