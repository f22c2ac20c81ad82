package conformance

import (
	"os"
	"testing"

	"anymesh.dev/anymesh/internal/driver/native"
)

// TestNative checks that our proxy behaves as the interpreter decides, in the cases of which the driver declares all
// that they need.
func TestNative(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("creating namespaces requires root")
	}
	ran := 0
	for _, c := range readCases(t) {
		m := c.Translate()
		for _, workload := range c.Workloads() {
			view, err := m.View(workload)
			if err != nil {
				t.Fatal(err)
			}
			if !declared(native.Driver{}, view) {
				continue
			}
			ran++
			t.Run(c.Name+"/"+workload, func(t *testing.T) {
				t.Parallel()
				wrong, err := Observe(t.Context(), c, workload, native.Name)
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range wrong {
					t.Error(w)
				}
			})
		}
	}
	if ran == 0 {
		t.Error("the driver declares no case")
	}
}
