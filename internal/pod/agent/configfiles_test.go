package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestConfigFilesAreMergedIntoTheOption(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tracing := write("tracing.yaml", "tracing: {http: {name: zipkin}}\nstaticResources: {clusters: [{name: collector}]}\n")
	stats := write("stats.yaml", "stats_config: {stats_tags: [{tag_name: a}]}\nstatsFlushInterval: 1s\n")
	again := write("again.json", `{"stats_flush_interval": "2s", "statsConfig": {"statsTags": [{"tag_name": "b"}]}}`)
	list := write("list.yaml", "[a]")
	empty := write("empty.yaml", "# nothing\n")
	twice := write("twice.yaml", "admin: {}\nadmin: {}\n")
	large := write("large.yaml", "text: "+strings.Repeat("x", maxConfig))
	for name, c := range map[string]struct {
		command, files []string
		want           []string
		fault          string
	}{
		"without files": {[]string{"proxy", "--c", "{}"}, nil, []string{"proxy", "--c", "{}"}, ""},
		"the option is added": {[]string{"proxy"}, []string{tracing}, []string{
			"proxy", "--c", `{"static_resources":{"clusters":[{"name":"collector"}]},"tracing":{"http":{"name":"zipkin"}}}`,
		}, ""},
		"the value of the option is kept": {
			[]string{"proxy", "--c", `{"static_resources":{"clusters":[{"name":"first"}]}}`, "--last"}, []string{tracing},
			[]string{
				"proxy", "--c",
				`{"static_resources":{"clusters":[{"name":"first"},{"name":"collector"}]},"tracing":{"http":{"name":"zipkin"}}}`,
				"--last",
			}, "",
		},
		"later files take precedence, lists are appended": {[]string{"proxy"}, []string{stats, again}, []string{
			"proxy", "--c", `{"stats_config":{"stats_tags":[{"tag_name":"a"},{"tag_name":"b"}]},"stats_flush_interval":"2s"}`,
		}, ""},
		"a missing file":   {[]string{"proxy"}, []string{"/nowhere.yaml"}, nil, "open /nowhere.yaml: no such file"},
		"not an object":    {[]string{"proxy"}, []string{list}, nil, "list.yaml: it is not a YAML object"},
		"an empty file":    {[]string{"proxy"}, []string{empty}, nil, "empty.yaml: it is empty"},
		"a duplicate key":  {[]string{"proxy"}, []string{twice}, nil, `key "admin" already set`},
		"a file too large": {[]string{"proxy"}, []string{large}, nil, "large.yaml: it has more than 122880 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withConfigFiles(c.command, "--c", c.files)
			if c.fault != "" {
				if err == nil || !strings.Contains(err.Error(), c.fault) {
					t.Errorf("got error %v, want %q", err, c.fault)
				}
				return
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("got %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
	if _, err := withConfigFiles([]string{"proxy"}, "", []string{stats}); err == nil {
		t.Error("without an option: got no error")
	}
}
