package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The names that kubelet uses for the same purpose. Proxies that watch mounted
// Secrets know to watch for the rename of ..data.
const (
	dataLink    = "..data"
	newDataLink = "..data_new"
	dataPrefix  = "..anymesh_"
)

// writeFiles replaces all files of a folder at once: a reader sees all old or
// all new ones, never a new certificate with an old key. The files are
// <dir>/<name>, by way of a symbolic link that is swapped. They can be read by
// the owner only.
func writeFiles(dir string, files map[string][]byte) error {
	version, err := os.MkdirTemp(dir, dataPrefix)
	if err != nil {
		return err
	}
	swapped := false
	defer func() {
		if !swapped {
			_ = os.RemoveAll(version) // the first error is the one to report
		}
	}()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			return err
		}
	}
	fresh := filepath.Join(dir, newDataLink)
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Symlink(filepath.Base(version), fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	swapped = true
	for name := range files {
		if err := linkTo(filepath.Join(dir, name), filepath.Join(dataLink, name)); err != nil {
			return err
		}
	}
	return removeOthers(dir, filepath.Base(version))
}

func linkTo(path, target string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s is in the way, and not ours", path)
	}
	return os.Symlink(target, path)
}

// removeOthers deletes the versions before this one, with their private keys.
func removeOthers(dir, keep string) error {
	all, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), dataPrefix) && e.Name() != keep {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// inMemory says whether a folder is on a file system without a disk under it.
func inMemory(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}
