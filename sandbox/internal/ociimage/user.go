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

// User is who a process of an image runs as.
type User struct {
	UID, GID int
	Groups   []int // besides GID
	Home     string
}

const maxUsers = 1 << 20 // bytes of passwd or group

// LookUp finds a user in the file system of an image, from the text that an image's configuration has: a name or a
// number, and a group after a colon. Without a group it is that of /etc/passwd, with the further ones of /etc/group. A
// number needs no entry. No text is root.
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
	fields []string // nil if there is no line
}

// find looks for a name, then for a number. In both files the name is the first field and the number the third.
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

// table reads a file of lines with colons. Lines of fewer fields are left out; no file is no line.
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
