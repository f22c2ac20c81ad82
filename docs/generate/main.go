// Command generate writes the generated pages into the folder that it is run in. With an argument, it writes the man
// pages of all commands into that folder instead.
package main

import (
	"fmt"
	"os"

	"anymesh.dev/anymesh/docs"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func write() error {
	if len(os.Args) > 1 {
		return docs.WriteManPages(os.Args[1])
	}
	pages, err := docs.Pages()
	if err != nil {
		return err
	}
	for name, text := range pages {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
