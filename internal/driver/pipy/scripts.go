package pipy

import (
	"embed"
	"io/fs"
)

//go:embed scripts/*.js
var scripts embed.FS

// ScriptNames lists the scripts, sorted. The one that pipy runs is main.js.
func ScriptNames() []string {
	var out []string
	entries, _ := fs.ReadDir(scripts, "scripts") // it is embedded
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Script returns a script. It reports false for an unknown name.
func Script(name string) ([]byte, bool) {
	text, err := scripts.ReadFile("scripts/" + name)
	return text, err == nil
}
