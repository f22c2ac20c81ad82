package ociimage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// User is the user of a container process.
type User struct {
	UID, GID int
	Groups   []int // supplementary groups
	Home     string
}

const maxUsers = 1 << 20 // maximum size of passwd or group in bytes

// LookUp resolves the user of an image configuration in the file system of the image: a name or a number, and an
// optional group after a colon. Without a group, the groups of /etc/passwd and /etc/group apply. A number needs no
// entry. The empty text is root.
func LookUp(folder, text string) (User, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return User{}, err
	}
	defer root.Close()
	users, err := table(root, "etc/passwd", 6)
	if err != nil {
		return User{}, err
	}
	groups, err := table(root, "etc/group", 3)
	if err != nil {
		return User{}, err
	}
	name, group, hasGroup := strings.Cut(text, ":")
	if name == "" {
		name = "0"
	}
	user, err := find(users, "user", name)
	if err != nil {
		return User{}, err
	}
	out := User{UID: user.id, Home: "/"}
	if user.fields != nil {
		if out.GID, err = number(user.fields[3]); err != nil {
			return User{}, fmt.Errorf("/etc/passwd of the image: the group of user %s: %w", name, err)
		}
		if user.fields[5] != "" {
			out.Home = user.fields[5]
		}
	}
	if hasGroup && group != "" {
		found, err := find(groups, "group", group)
		out.GID = found.id
		return out, err
	}
	for _, g := range groups {
		id, err := number(g[2])
		if user.fields != nil && err == nil && len(g) > 3 && id != out.GID &&
			slices.Contains(strings.Split(g[3], ","), user.fields[0]) {
			out.Groups = append(out.Groups, id)
		}
	}
	return out, nil
}

type entry struct {
	id     int
	fields []string // nil without a line
}

// find searches by name, then by number. In both files the name is the first field and the number the third.
func find(lines [][]string, kind, name string) (entry, error) {
	id, err := number(name)
	for _, byName := range []bool{true, false} {
		for _, fields := range lines {
			its, bad := number(fields[2])
			if bad == nil && (byName && fields[0] == name || !byName && err == nil && its == id) {
				return entry{its, fields}, nil
			}
		}
	}
	if err != nil {
		return entry{}, fmt.Errorf(
			"%s %q is not in the image's /etc/%s",
			kind,
			name,
			map[string]string{"user": "passwd", "group": "group"}[kind],
		)
	}
	return entry{id: id}, nil
}

func number(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	return int(n), err
}

// table reads a file of colon-separated fields. Lines with fewer fields are ignored; a missing file is empty.
func table(root *os.Root, name string, fields int) ([][]string, error) {
	file, err := root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("users of the image: %w", err)
	}
	defer file.Close()
	var out [][]string
	for lines := bufio.NewScanner(io.LimitReader(file, maxUsers)); lines.Scan(); {
		if f := strings.Split(lines.Text(), ":"); len(f) >= fields {
			out = append(out, f)
		}
	}
	return out, nil
}
