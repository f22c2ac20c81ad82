package lab

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// span is a range of ids that /etc/subuid or /etc/subgid gives to a user.
type span struct{ first, count int }

// mapIDs gives the user namespace of pid its ids: root inside is the user outside; further ids are the user's
// subordinate ones, set by newuidmap(1). Without those only root exists inside. A supervisor with root maps all ids to
// themselves.
func mapIDs(pid int) error {
	if os.Geteuid() == 0 {
		for _, f := range []string{"uid_map", "gid_map"} {
			all, err := os.ReadFile("/proc/self/" + f)
			if err != nil {
				return err
			}
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, f), identity(string(all)), 0); err != nil {
				return fmt.Errorf("mapping ids: %w", err)
			}
		}
		return nil
	}
	me, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil { // a user without a name can still have ids
		me = &user.User{Uid: strconv.Itoa(os.Getuid())}
	}
	uids, gids := subordinate("/etc/subuid", me), subordinate("/etc/subgid", me)
	_, noTool := exec.LookPath("newuidmap")
	if noTool != nil || len(uids) == 0 || len(gids) == 0 {
		return mapSelf(pid)
	}
	for _, m := range []struct {
		tool  string
		id    int
		spans []span
	}{{"newuidmap", os.Getuid(), uids}, {"newgidmap", os.Getgid(), gids}} {
		args := append([]string{strconv.Itoa(pid)}, mapping(m.id, m.spans)...)
		if out, err := exec.Command(m.tool, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", m.tool, err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

func mapSelf(pid int) error {
	for _, w := range []struct{ file, text string }{
		{"setgroups", "deny"},
		{"uid_map", fmt.Sprintf("0 %d 1", os.Getuid())},
		{"gid_map", fmt.Sprintf("0 %d 1", os.Getgid())},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, w.file), []byte(w.text), 0); err != nil {
			return fmt.Errorf("mapping ids: %w", err)
		}
	}
	return nil
}

// identity turns a uid_map (inside, outside, count) into one that maps the same inside ids to themselves. It leaves out
// the last of all ids, because a map with every id is how the kubelet recognizes that it is not in a user namespace.
func identity(all string) []byte {
	const every = "4294967295"
	var b strings.Builder
	for line := range strings.Lines(all) {
		if f := strings.Fields(line); len(f) == 3 {
			if f[2] == every {
				f[2] = "4294967294"
			}
			fmt.Fprintf(&b, "%s %s %s\n", f[0], f[0], f[2])
		}
	}
	return []byte(b.String())
}

// mapping gives the arguments of newuidmap: id is root inside, the spans follow.
func mapping(id int, spans []span) []string {
	out := []string{"0", strconv.Itoa(id), "1"}
	next := 1
	for _, s := range spans {
		out = append(out, strconv.Itoa(next), strconv.Itoa(s.first), strconv.Itoa(s.count))
		next += s.count
	}
	return out
}

// subordinate reads lines NAME-OR-ID:FIRST:COUNT.
func subordinate(file string, me *user.User) []span {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var out []span
	for line := range strings.Lines(string(b)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 || f[0] != me.Username && f[0] != me.Uid {
			continue
		}
		first, err1 := strconv.Atoi(f[1])
		count, err2 := strconv.Atoi(f[2])
		if err1 == nil && err2 == nil && count > 0 {
			out = append(out, span{first, count})
		}
	}
	return out
}
