// Command generate writes the generated pages into the folder that it is run in.
package main

import (
	"fmt"
	"os"

	"anymesh.dev/anymesh/docs"
)

func main() {
	for name, text := range docs.Pages() {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "docs:", err)
			os.Exit(1)
		}
	}
}
