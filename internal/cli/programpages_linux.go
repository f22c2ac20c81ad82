package cli

import (
	"debug/elf"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

// returnMemory returns free memory of the heap and unused pages of the program to the operating system.
func returnMemory(log *slog.Logger) {
	debug.FreeOSMemory()
	if err := returnProgramPages(); err != nil {
		log.Debug("pages of the program stay in memory", "error", err)
	}
}

// returnProgramPages unmaps the program's code and constants: half of them were used by the start only. What is used
// again is mapped from the page cache, in blocks of 64 KiB. A position-independent program stays as it is: its
// constants have addresses that were written at the start.
func returnProgramPages() error {
	const path = "/proc/self/exe"
	program, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading the segments of the program: %w", err)
	}
	defer func() { _ = program.Close() }() // it was only read
	if program.Type != elf.ET_EXEC {
		return nil
	}
	page := uint64(os.Getpagesize())
	var failed error
	for _, segment := range program.Progs {
		if segment.Type != elf.PT_LOAD || segment.Flags&elf.PF_W != 0 {
			continue
		}
		start := segment.Vaddr &^ (page - 1)
		size := (segment.Vaddr + segment.Memsz - start + page - 1) &^ (page - 1)
		if _, _, errno := unix.Syscall(unix.SYS_MADVISE, uintptr(start), uintptr(size), unix.MADV_DONTNEED); errno != 0 {
			failed = errors.Join(failed, fmt.Errorf("madvise %#x, %d bytes: %w", start, size, errno))
		}
	}
	return failed
}
