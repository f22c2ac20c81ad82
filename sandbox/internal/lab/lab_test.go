package lab

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anymesh.dev/anymesh/sandbox/internal/plan"
)

// TestStateAndLock checks that the lock, not the state file, determines whether a lab runs.
func TestStateAndLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	if _, err := Read(dir); !errors.Is(err, ErrNoLab) {
		t.Errorf("no lab: %v", err)
	}
	held, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(dir); err == nil || !strings.Contains(err.Error(), "already running") {
		t.Errorf("locked twice: %v", err)
	}
	p, err := plan.New("lab", dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := (State{Lab: p, Phase: Ready}).write(); err != nil {
		t.Fatal(err)
	}
	if s, err := Read(dir); err != nil || s.Phase != Ready || s.Lab.Clusters[0] != p.Clusters[0] {
		t.Errorf("%+v %v", s, err)
	}
	held.Close()
	if s, err := Read(dir); err != nil || s.Phase != Dead {
		t.Errorf("%+v %v", s, err)
	}
}

// TestClean checks that Clean removes the files of the lab and nothing else.
func TestClean(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "lab")
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{
		"c1.kubeconfig", "c1.inside.kubeconfig", "state.json", "lock", "logs/x.log", "mine.txt",
	} {
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Clean(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 || left[0].Name() != "mine.txt" {
		t.Errorf("remaining files: %v %v", left, err)
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, "mine.txt")), Clean(dir)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the empty folder was not removed: %v", err)
	}
}

func TestSubordinateIDs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "subuid")
	text := "other:1:1\nme:100000:65536\n1000:300000:10\nbroken\nme:x:y\nme:5:0\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := subordinate(file, &user.User{Username: "me", Uid: "1000"})
	if !slices.Equal(got, []span{{100000, 65536}, {300000, 10}}) {
		t.Errorf("got %v", got)
	}
	if got := strings.Join(mapping(1000, got), " "); got != "0 1000 1 1 100000 65536 65537 300000 10" {
		t.Errorf("mapping %s", got)
	}
	if got := subordinate("/no/such/file", &user.User{}); got != nil {
		t.Errorf("got %v", got)
	}
}

// TestIdentity checks that a supervisor with root maps its IDs to themselves, except the last ID.
func TestIdentity(t *testing.T) {
	for in, want := range map[string]string{
		"         0          0 4294967295\n": "0 0 4294967294\n",
		"0 100000 65536\n70000 5 1\n":        "0 0 65536\n70000 70000 1\n",
	} {
		t.Run(in, func(t *testing.T) {
			if got := string(identity(in)); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestEvents(t *testing.T) {
	var b strings.Builder
	w := &eventWriter{w: &b}
	w.send(Event{Cluster: "c1", Step: "node"})
	w.send(Event{Done: true})
	var got []Event
	ReadEvents(strings.NewReader("noise\n"+b.String()), func(e Event) { got = append(got, e) })
	if want := []Event{{Cluster: "c1", Step: "node"}, {Done: true}}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
