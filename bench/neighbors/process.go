package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// processAt returns the process ID of a program in the pod with an address.
func processAt(address, program string) (int, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, folder := range folders {
		name, nameErr := os.ReadFile(filepath.Join(folder, "comm"))
		addresses, err := os.ReadFile(filepath.Join(folder, "net/fib_trie"))
		if nameErr != nil || err != nil {
			continue // the process has ended
		}
		if strings.TrimSpace(string(name)) == program && local(address).Match(addresses) {
			return strconv.Atoi(filepath.Base(folder))
		}
	}
	return 0, fmt.Errorf("no process %s has the address %s", program, address)
}

// local returns an expression for an address of a host in fib_trie; the node has only a route to it.
func local(address string) *regexp.Regexp {
	return regexp.MustCompile(" " + regexp.QuoteMeta(address) + `\n\s*/32 host LOCAL`)
}

// memory returns the resident memory of a process in MB.
func memory(process int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", process))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmRSS:" {
			kB, err := strconv.ParseFloat(fields[1], 64)
			return kB / 1024, err
		}
	}
	return 0, fmt.Errorf("process %d has no VmRSS", process)
}

// largestMemory returns the largest resident memory of a process until the context ends.
func largestMemory(ctx context.Context, process int) (largest float64, err error) {
	for pause(ctx, changePause) {
		m, err := memory(process)
		if err != nil {
			return largest, err
		}
		largest = max(largest, m)
	}
	return largest, nil
}

// cpu returns the CPU time of a process: utime and stime of proc(5), in ticks of 10 ms.
func cpu(process int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("stat of process %d: %q", process, stat)
	}
	user, userErr := strconv.Atoi(fields[11])
	system, err := strconv.Atoi(fields[12])
	if err != nil || userErr != nil {
		return 0, fmt.Errorf("stat of process %d: %q", process, stat)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}
