package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// sandboxProgram is the name of the program that has Kubernetes inside. It is built apart: see the Makefile.
const sandboxProgram = "anymesh-sandbox"

func sandboxCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "sandbox",
		Short:              "Run real Kubernetes clusters on this machine, without Docker",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findSandbox()
			if err != nil {
				return err
			}
			environment := append(os.Environ(), "ANYMESH_SANDBOX_NAME=anymesh sandbox")
			// Replaces this process: signals, terminal and exit code are the sandbox's own.
			if err := syscall.Exec(path, append([]string{path}, args...), environment); err != nil {
				return fmt.Errorf("running %s: %w", path, err)
			}
			return nil
		},
	}
}

// findSandbox looks beside this program, then on the PATH.
func findSandbox() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), sandboxProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath(sandboxProgram)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is neither beside anymesh nor on the PATH; build it with: make sandbox", sandboxProgram)
	}
	return path, err
}
