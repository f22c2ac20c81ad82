package presubmit

import (
	"slices"
	"strings"
	"testing"
)

// groups are the folders of the program in the order in which they build on each other: packages import only packages
// of their own or an earlier group. CONTRIBUTING.md shows the order.
var groups = []string{
	"model", "api", "charts", "sidecar",
	"internal/truncate", "internal/spelling", "internal/ratelimit", "internal/timerslack", "internal/memlimit",
	"internal/connlimit", "internal/serverlimit", "internal/build", "internal/h2frame", "internal/xdsclient", "internal/adminsocket",
	"docs/findings", "internal/identity",
	"internal/fleet", "internal/aggregate", "internal/proxy",
	"internal/incremental", "internal/store", "internal/gateway", "internal/dialect", "internal/driver", "internal/engine",
	"internal/delivery", "internal/objects", "internal/pod", "internal/trait", "test/cases", "test/sds", "internal/observe",
	"internal/controlplane", "internal/cli", "program", "cmd",
}

// No group of packages imports a later one.
func TestImportsPointToEarlierGroups(t *testing.T) {
	groupOf := func(name string) int {
		return slices.IndexFunc(groups, func(g string) bool { return covers([]string{g + "/..."}, name) })
	}
	for _, p := range list(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module)
		if covers(free, name) {
			continue
		}
		group := groupOf(name)
		if group < 0 {
			t.Errorf("package %s is in none of the groups", name)
			continue
		}
		for _, imported := range p.Imports {
			ours, isOurs := strings.CutPrefix(imported, module)
			if other := groupOf(ours); isOurs && (other < 0 || other > group) {
				t.Errorf("%s imports %s, which is not in its group or an earlier one", name, ours)
			}
		}
	}
}
