package manifest

import (
	"fmt"
	"strings"

	"anymesh.dev/anymesh/internal/cli/terminal"
)

// Notes are notes about the files and folders that are not read: one for each folder, and one for the files of a
// reason.
func Notes(skips []Skip) []string {
	var out []string
	files := map[SkipReason][]string{}
	for _, s := range skips {
		switch s.Reason {
		case SkipNoManifests:
			out = append(out, fmt.Sprintf("folder %s has no files .yaml, .yml or .json", s.Name))
		case SkipChart:
			out = append(out, fmt.Sprintf("%s is a Helm chart; %s skipped; run helm template %s | anymesh lint -", s.Name,
				terminal.Count(s.Files, "file is", "files are"), quote(s.Name)))
		case SkipKustomize:
			out = append(out, fmt.Sprintf("%s is a folder of Kustomize; %s skipped; run kubectl kustomize %s | anymesh lint -",
				s.Name, terminal.Count(s.Files, "file is", "files are"), quote(s.Name)))
		default:
			files[s.Reason] = append(files[s.Reason], s.Name)
		}
	}
	for _, r := range []struct {
		reason    SkipReason
		one, many string
		remedy    string
	}{
		{SkipTemplate, "template", "templates", "; run helm template CHART | anymesh lint -"},
		{SkipNotKubernetes, "file without Kubernetes objects", "files without Kubernetes objects", ""},
		{SkipEmpty, "empty file", "empty files", ""},
	} {
		if names := files[r.reason]; len(names) > 0 {
			out = append(out, terminal.Count(len(names), r.one, r.many)+" skipped: "+listed(names)+r.remedy)
		}
	}
	return out
}

// listed joins names, at most five.
func listed(names []string) string {
	const most = 5
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// quote quotes a name for a shell.
func quote(name string) string {
	if strings.ContainsAny(name, " \t\n'\"$`\\&;|<>()*?[]{}#~!") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}
