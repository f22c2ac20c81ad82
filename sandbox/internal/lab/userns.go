package lab

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"strings"
)

// span is a range of subordinate IDs in /etc/subuid or /etc/subgid.
type span struct{ first, count int }

// mapIDs maps the IDs of the user namespace of pid: root inside is the user outside; newuidmap(1) maps the
// subordinate IDs of the user. Without subordinate IDs, only root exists inside. A supervisor with root maps all IDs
// to themselves.
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
	if err != nil { // a user without a name may have subordinate IDs
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

// identity converts a uid_map (inside, outside, count) to one that maps the inside IDs to themselves. It omits the
// last ID, because the kubelet treats a complete map as "no user namespace".
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

// mapping returns the arguments of newuidmap: id is root inside, followed by the spans.
func mapping(id int, spans []span) []string {
	out := []string{"0", strconv.Itoa(id), "1"}
	next := 1
	for _, s := range spans {
		out = append(out, strconv.Itoa(next), strconv.Itoa(s.first), strconv.Itoa(s.count))
		next += s.count
	}
	return out
}

// subordinate reads lines of the form NAME-OR-ID:FIRST:COUNT.
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
