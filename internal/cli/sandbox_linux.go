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

// sandboxProgram is the binary that embeds Kubernetes. It is built from its own Go module; see the Makefile.
const sandboxProgram = "anymesh-sandbox"

func sandboxCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "sandbox",
		Short:              "Run Kubernetes clusters on this machine, without Docker",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			path, err := findSandbox()
			if err != nil {
				return err
			}
			environment := append(os.Environ(), "ANYMESH_SANDBOX_NAME=anymesh sandbox")
			// exec keeps signals, terminal and exit code.
			if err := syscall.Exec(path, append([]string{path}, args...), environment); err != nil {
				return fmt.Errorf("running %s: %w", path, err)
			}
			return nil
		},
	}
}

// findSandbox searches the directory of this program, then PATH.
func findSandbox() (string, error) {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), sandboxProgram)
		if info, err := os.Stat(beside); err == nil && info.Mode()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := exec.LookPath(sandboxProgram)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s not found in the directory of anymesh or in PATH; build it with: make sandbox",
			sandboxProgram)
	}
	return path, err
}
