// Package twodialects shows the commands of a program with two dialects that have a kind of the same name:
// VirtualService of App Mesh, and of a small dialect.
package twodialects

import (
	"testing"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin"
	_ "anymesh.dev/anymesh/internal/driver"
	"anymesh.dev/anymesh/test/e2e/extended/parcel"
	"anymesh.dev/anymesh/test/transcript"
)

func init() { dialect.Register(parcel.Dialect{}) }

// The commands find and show objects by group and kind.
func TestTranscripts(t *testing.T) { transcript.Test(t, "../../examples/colors") }
