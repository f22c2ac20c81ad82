package main

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// watchOutput has the lines of a running kubectl get -w.
type watchOutput struct {
	mu    sync.Mutex
	lines []string
}

// watchPods starts kubectl get pods -w, and prints its lines as they come.
func (d *demo) watchPods(ctx context.Context) error {
	fmt.Print("\n$ kubectl get pods -w &\n")
	command := exec.CommandContext(ctx, filepath.Join(d.bin, "anymesh"), d.kubectlArgs("all", []string{"get", "pods", "-w"})...)
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	d.processes = append(d.processes, command)
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			fmt.Println("  watch:", lines.Text())
			d.watch.mu.Lock()
			d.watch.lines = append(d.watch.lines, strings.Join(strings.Fields(lines.Text()), " "))
			d.watch.mu.Unlock()
		}
	}()
	return d.eventually(ctx, "the watch shows the pods", func() error { return d.watched("shop 1/1 Running") })
}

// watched returns an error unless the watch printed a line with this beginning.
func (d *demo) watched(want string) error {
	d.watch.mu.Lock()
	defer d.watch.mu.Unlock()
	for _, line := range d.watch.lines {
		if strings.HasPrefix(line, want) {
			return nil
		}
	}
	return fmt.Errorf("the watch printed no line %q, but %q", want, d.watch.lines)
}
