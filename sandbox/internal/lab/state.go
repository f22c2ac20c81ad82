// Package lab runs a sandbox: a supervisor on the host, and inside its namespaces the first process that runs the
// clusters.
//
// In: a plan. Out: running clusters whose API servers answer on the host's loopback, kubeconfig files, logs and a state
// file in the lab's folder. The inside is one PID, mount and network namespace (and user namespace without root). When
// the supervisor ends, however it ends, the kernel ends everything inside.
package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// Phase is where a lab is in its life.
type Phase string

// The phases. Dead is never written: it is what a reader says of a lab whose supervisor holds no lock.
const (
	Starting Phase = "Starting"
	Ready    Phase = "Ready"
	Failed   Phase = "Failed"
	Dead     Phase = "Dead"
)

// State is what the supervisor writes for others to read.
type State struct {
	Lab     plan.Lab  `json:"lab"`
	PID     int       `json:"pid"` // of the supervisor
	Phase   Phase     `json:"phase"`
	Message string    `json:"message,omitempty"`
	Started time.Time `json:"started"`
	ReadyIn float64   `json:"readyInSeconds,omitempty"`
}

// ErrNoLab is the answer for a folder without a lab.
var ErrNoLab = errors.New("no sandbox there: start one with \"up\"")

func statePath(dir string) string   { return filepath.Join(dir, "state.json") }
func lockPath(dir string) string    { return filepath.Join(dir, "lock") }
func controlPath(dir string) string { return filepath.Join(dir, "control.sock") }

// Read gives the state of the lab in dir, with phase Dead if its supervisor is gone.
func Read(dir string) (State, error) {
	b, err := os.ReadFile(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return State{}, fmt.Errorf("%s: %w", dir, ErrNoLab)
	}
	if err != nil {
		return State{}, err
	}
	var s State
	if err := json.Unmarshal(b, &s); err != nil {
		return State{}, fmt.Errorf("%s: %w", statePath(dir), err)
	}
	alive, err := Alive(dir)
	if err != nil {
		return State{}, err
	}
	if !alive {
		s.Phase = Dead
	}
	return s, nil
}

func (s State) write() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	path := statePath(s.Lab.Dir)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Alive says whether a supervisor holds the lock of dir. The kernel releases the lock when the supervisor ends, however
// it does.
func Alive(dir string) (bool, error) {
	f, err := os.Open(lockPath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// lock takes the lock of dir for this process's life.
func lock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Those who only look hold the lock for a moment.
	for range 20 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.Close()
	return nil, fmt.Errorf("a sandbox already runs in %s: use another --name, or \"down\" first", dir)
}

// Clean removes what a lab leaves in its folder, and the folder if nothing else is in it. The lab must be dead.
func Clean(dir string) error {
	var errs []error
	for _, pattern := range []string{"*.kubeconfig", "state.json*", "control.sock", "logs", "run", "lock"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		errs = append(errs, err)
		for _, f := range files {
			errs = append(errs, os.RemoveAll(f))
		}
	}
	_ = os.Remove(dir) // not empty: somebody else's files
	return errors.Join(errs...)
}
