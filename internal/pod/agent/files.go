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

// Names that kubelet uses for volumes. Proxies that watch mounted Secrets watch for the rename of ..data.
const (
	dataLink    = "..data"
	newDataLink = "..data_new"
	dataPrefix  = "..anymesh_"
)

// readers are the users of a pod who may read the files of the agent.
type readers bool

const (
	owner    readers = false
	allUsers readers = true
)

// mode returns the mode of a file or folder from that for its owner.
func (r readers) mode(ofOwner fs.FileMode) fs.FileMode {
	if r == owner {
		return ofOwner
	}
	return ofOwner | ofOwner>>3&0o055 | ofOwner>>6&0o005
}

// writeFiles replaces all files of a folder atomically: a reader sees all old or all new files, never a new
// certificate with an old key. <dir>/<name> is a symbolic link through ..data, which is swapped. Only the owner can
// read the files, unless they are for all users.
func writeFiles(dir string, files map[string][]byte, readers readers) error {
	version, err := os.MkdirTemp(dir, dataPrefix)
	if err != nil {
		return err
	}
	swapped := false
	defer func() {
		if !swapped {
			_ = os.RemoveAll(version) // the first error is reported
		}
	}()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(version, name), content, readers.mode(0o600)); err != nil {
			return err
		}
	}
	if err := os.Chmod(version, readers.mode(0o700)); err != nil {
		return err
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
		if err := ensureSymlink(filepath.Join(dir, name), filepath.Join(dataLink, name)); err != nil {
			return err
		}
	}
	return removeOldVersions(dir, filepath.Base(version))
}

func ensureSymlink(path, target string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s exists and was not created by the agent", path)
	}
	return os.Symlink(target, path)
}

// removeOldVersions deletes the earlier versions with their private keys.
func removeOldVersions(dir, keep string) error {
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

// isMemoryFS reports whether a folder is on a file system in memory.
func isMemoryFS(dir string) bool {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return false
	}
	return st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC
}
