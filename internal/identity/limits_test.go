package identity

import (
	"reflect"
	"testing"
)

// Limits lists every number of HandlerOptions, and constants.
func TestLimitsListEveryOption(t *testing.T) {
	constants := []string{"MaxRequestSize", "ReadTimeout", "MaxTokenSize", "MaxSources"}
	listed := map[string]bool{}
	for _, l := range Limits() {
		if l.Default == "" || l.Default == "0" || l.Text == "" {
			t.Errorf("%+v", l)
		}
		listed[l.Name] = true
	}
	fields := reflect.TypeFor[HandlerOptions]()
	numbers := len(constants)
	for i := range fields.NumField() {
		if f := fields.Field(i); f.Type.Kind() == reflect.Int || f.Type.Kind() == reflect.Float64 {
			numbers++
			if !listed[f.Name] {
				t.Errorf("%s is missing in Limits", f.Name)
			}
		}
	}
	for _, name := range constants {
		if !listed[name] {
			t.Errorf("%s is missing in Limits", name)
		}
	}
	if len(listed) != numbers {
		t.Errorf("%d limits of %d fields: %v", len(listed), numbers, listed)
	}
}
