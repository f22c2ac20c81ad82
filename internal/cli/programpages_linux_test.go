package cli

import (
	"os"
	"regexp"
	"strconv"
	"testing"
)

// TestProgramPagesAreReturned checks that pages of the program which nothing uses are not resident.
func TestProgramPagesAreReturned(t *testing.T) {
	before := residentFilePages(t)
	if err := returnProgramPages(); err != nil {
		t.Fatal(err)
	}
	if after := residentFilePages(t); after > before*3/4 {
		t.Errorf("%d KiB of files are resident, and %d KiB before", after, before)
	}
}

// residentFilePages returns the size of the files of this process that are resident, in KiB.
func residentFilePages(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if line == nil {
		t.Fatalf("RssFile is missing in /proc/self/status:\n%s", status)
	}
	size, err := strconv.Atoi(string(line[1]))
	if err != nil {
		t.Fatal(err)
	}
	return size
}
