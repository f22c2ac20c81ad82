package agent

import (
	"fmt"
	"path/filepath"
	"strings"

	"anymesh.dev/anymesh/sidecar"
)

// writeVariables writes the files whose content is in the environment of the container. The environment cannot change
// after admission, so the proxy starts from the same files after each restart.
func writeVariables(dir string, environ []string) error {
	if dir == "" {
		return nil
	}
	files := map[string][]byte{}
	for _, v := range environ {
		v, is := strings.CutPrefix(v, sidecar.FileVariable)
		if !is {
			continue
		}
		name, content, _ := strings.Cut(v, "=")
		if filepath.Base(name) != name || strings.HasPrefix(name, ".") {
			return fmt.Errorf("agent: variable %s%s: %q is not a file name", sidecar.FileVariable, name, name)
		}
		files[name] = []byte(content)
	}
	if err := writeFiles(dir, files, owner); err != nil {
		return fmt.Errorf("agent: files of the proxy: %w", err)
	}
	return nil
}
