package identity

import (
	"reflect"
	"testing"
)

// Limits lists every number of HandlerOptions.
func TestLimitsListEveryOption(t *testing.T) {
	listed := map[string]bool{"MaxRequestSize": true}
	for _, l := range Limits() {
		if l.Default == "" || l.Default == "0" || l.Text == "" {
			t.Errorf("%+v", l)
		}
		listed[l.Name] = true
	}
	fields := reflect.TypeFor[HandlerOptions]()
	numbers := 1
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Float64 {
			numbers++
			if !listed[f.Name] {
				t.Errorf("%s is missing in Limits", f.Name)
			}
		}
	}
	if len(listed) != numbers {
		t.Errorf("%d limits of %d fields: %v", len(listed), numbers, listed)
	}
}
