package ociimage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Store is a folder with unpacked images, one per digest. Several processes may share it.
type Store struct{ Dir string }

// Root returns the folder with the file system of the image, and unpacks the image if necessary. The folder must not
// be modified.
func (s Store) Root(image *Image) (string, error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return "", err
	}
	root := filepath.Join(s.Dir, strings.ReplaceAll(image.Digest, ":", "-"))
	if _, err := os.Stat(root); err == nil {
		return root, nil
	}
	unlock, err := lock(root + ".lock")
	if err != nil {
		return "", fmt.Errorf("waiting for another process to unpack the image: %w", err)
	}
	defer unlock()
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		return root, err // another process unpacked it
	}
	part := root + ".part"
	if err := os.RemoveAll(part); err != nil { // left by a killed process
		return "", err
	}
	if err := os.Mkdir(part, 0o755); err != nil {
		return "", err
	}
	if err := image.Unpack(part, DefaultLimits); err != nil {
		return "", errors.Join(err, os.RemoveAll(part))
	}
	return root, os.Rename(part, root)
}

// lock acquires an exclusive lock. The kernel releases it when the process exits.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return func() { file.Close() }, nil
}
