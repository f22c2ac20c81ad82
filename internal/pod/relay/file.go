package relay

import (
	"fmt"
	"io"
	"os"
	"syscall"
)

// maxFileSize limits a certificate file, in bytes: the size of the data of a Secret or ConfigMap.
const maxFileSize = 1 << 20

// readFile reads a file that users name. It must be regular, so that reading it ends.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe without a writer does not block
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if err == nil && len(content) > maxFileSize {
		err = fmt.Errorf("%s has more than %d bytes", path, maxFileSize)
	}
	return content, err
}
