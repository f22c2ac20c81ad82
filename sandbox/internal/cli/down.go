package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"anymesh.dev/anymesh/sandbox/internal/lab"
)

func downCommand(p *place) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the clusters, or clean up after a killed sandbox",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := p.folder()
			if err != nil {
				return err
			}
			s, err := lab.Read(dir)
			if errors.Is(err, lab.ErrNoLab) {
				alive, aliveErr := lab.Alive(dir)
				if aliveErr != nil || alive {
					return errors.Join(err, aliveErr)
				}
				return lab.Clean(dir) // for example logs of a failed start
			}
			if err != nil {
				return err
			}
			if err := stop(dir, s); err != nil {
				return err
			}
			return lab.Clean(dir)
		},
	}
}

// stop sends SIGTERM to the supervisor, SIGKILL after a timeout, and waits until it exits.
func stop(dir string, s lab.State) error {
	const patience = 20 * time.Second
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			alive, err := lab.Alive(dir)
			if err != nil || !alive {
				return err
			}
			if sig == 0 {
				continue
			}
			// The lock is held, so the process with this ID is the supervisor.
			p, err := os.FindProcess(s.PID)
			if err == nil {
				_ = p.Signal(sig)
			}
			sig = 0
		}
	}
	return fmt.Errorf("the supervisor (process %d) does not exit", s.PID)
}
