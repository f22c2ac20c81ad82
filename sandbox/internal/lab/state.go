// Package lab runs a sandbox: a supervisor on the host, and the first process in its namespaces, which runs the
// clusters.
//
// In: a plan. Out: running clusters whose API servers listen on the loopback interface of the host, kubeconfig files,
// logs and a state file in the folder of the lab. The inside is one PID, mount and network namespace (and a user
// namespace without root). When the supervisor exits for any reason, the kernel ends all processes inside.
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

// Phase is the phase of a lab.
type Phase string

// Phases. Dead is never written: readers report it for a lab whose supervisor does not hold the lock.
const (
	Starting Phase = "Starting"
	Ready    Phase = "Ready"
	Failed   Phase = "Failed"
	Dead     Phase = "Dead"
)

// State is the state file of the supervisor.
type State struct {
	Lab     plan.Lab  `json:"lab"`
	PID     int       `json:"pid"` // of the supervisor
	Phase   Phase     `json:"phase"`
	Message string    `json:"message,omitempty"`
	Started time.Time `json:"started"`
	ReadyIn float64   `json:"readyInSeconds,omitempty"`
}

// ErrNoLab is returned for a folder without a lab.
var ErrNoLab = errors.New("no sandbox found: start one with \"up\"")

func statePath(dir string) string   { return filepath.Join(dir, "state.json") }
func lockPath(dir string) string    { return filepath.Join(dir, "lock") }
func controlPath(dir string) string { return filepath.Join(dir, "control.sock") }

// Read returns the state of the lab in dir, with phase Dead if its supervisor does not run.
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

// Alive reports whether a supervisor holds the lock of dir. The kernel releases the lock when the supervisor exits.
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

// lock acquires the lock of dir for the lifetime of this process.
func lock(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	// Readers hold the lock briefly.
	for range 20 {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return f, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	f.Close()
	return nil, fmt.Errorf("a sandbox is already running in %s: use another --name, or run \"down\" first", dir)
}

// Clean removes the files of a lab, and its folder if it is empty. The lab must be dead.
func Clean(dir string) error {
	var errs []error
	for _, pattern := range []string{"*.kubeconfig", "state.json*", "control.sock", "logs", "run", "lock"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		errs = append(errs, err)
		for _, f := range files {
			errs = append(errs, os.RemoveAll(f))
		}
	}
	_ = os.Remove(dir) // fails if the folder contains other files
	return errors.Join(errs...)
}
