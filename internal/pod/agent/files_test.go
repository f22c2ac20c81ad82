package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A reader that opens one version sees files of one write only.
func TestWriteFilesIsAtomic(t *testing.T) {
	dir := t.TempDir()
	write := func(content string) {
		if err := writeFiles(dir, map[string][]byte{"a": []byte(content), "b": []byte(content)}, owner); err != nil {
			t.Error(err)
		}
	}
	write("0")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 300 {
			write(strings.Repeat("x", i))
		}
		close(stop)
	})
	for reading := true; reading; {
		select {
		case <-stop:
			reading = false
		default:
		}
		version, err := os.OpenRoot(filepath.Join(dir, dataLink))
		if errors.Is(err, fs.ErrNotExist) {
			continue // the version was replaced between finding and opening it
		}
		if err != nil {
			t.Fatal(err)
		}
		a, errA := version.ReadFile("a")
		b, errB := version.ReadFile("b")
		version.Close()
		if errA == nil && errB == nil && string(a) != string(b) { // errors: the version was replaced meanwhile
			t.Fatalf("read %q with %q", a, b)
		}
	}
	wg.Wait()
	info, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 { // ..data, one version, a, b
		t.Errorf("%d entries left, %v", len(left), err)
	}
}

func TestWriteFilesKeepsForeignFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, map[string][]byte{"a": []byte("x")}, owner); err == nil ||
		!strings.Contains(err.Error(), "not created by the agent") {
		t.Errorf("error %v", err)
	}
	if err := writeFiles(filepath.Join(dir, "nowhere"), nil, owner); err == nil {
		t.Error("no error for a missing folder")
	}
}
