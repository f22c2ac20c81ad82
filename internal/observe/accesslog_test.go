package observe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

// The supported versions of Envoy accept each format that the model accepts, and no others of these.
func TestLogFormatsOfEnvoy(t *testing.T) {
	newest, err := findEnvoy("../..")
	if err != nil && os.Getenv("CI") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	arguments := map[string]string{
		"REQ": "(:PATH?x-a)", "RESP": "(x):3", "TRAILER": "(x)", "ENVIRONMENT": "(HOME):9", "QUERY_PARAM": "(a b)",
		"PATH": "(NQ:ORIG):5", "START_TIME": "(%Y/%m/%dT%H:%M:%S%z %s.%3f)", "EMIT_TIME": "(%E4Y)",
		"START_TIME_LOCAL": "(%-d%)", "GRPC_STATUS": "(SNAKE_STRING)", "COMMON_DURATION": "(DS_RX_BEG:US_TX_END:ms)",
		"RESPONSE_CODE_DETAILS": "(ALLOW_WHITESPACES)", "DYNAMIC_METADATA": "(a:b:c)", "CLUSTER_METADATA": "(a:b)",
		"UPSTREAM_METADATA": `(["a","b"])`, "METADATA": "(ROUTE:a:b)", "FILTER_STATE": "(a:FIELD:b):7",
		"UPSTREAM_FILTER_STATE": "(a:TYPED)",
	}
	var all strings.Builder
	for _, name := range model.LogOperators() {
		fmt.Fprintf(&all, "%%%s%s%% ", name, arguments[name])
	}
	for _, kind := range []string{"DYNAMIC", "CLUSTER", "UPSTREAM_HOST", "LISTENER", "VIRTUAL_HOST"} {
		fmt.Fprintf(&all, "%%METADATA(%s:a)%% ", kind)
	}
	for _, name := range []string{newest, filepath.Join(filepath.Dir(newest), oldestEnvoy)} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			if _, err := os.Stat(name); err != nil && os.Getenv("CI") == "" {
				t.Skip(err)
			}
			for _, format := range []string{
				all.String(), "100%% %%%PROTOCOL()%\n\"\\é", "%REQ(a):999999999%", "%FOO%", "100%", "%REQ(a?b?c)%", "%REQ%",
				"%REQ(A B)%", "%PROTOCOL(x)%", "%START_TIME(%n)%", "%START_TIME(%^0n)%", "%GRPC_STATUS(x)%", "%PATH(x)%",
				"%FILTER_STATE(a:b)%", "%COMMON_DURATION(a:b:s)%", "%REQUESTED_SERVER_NAME:5%",
			} {
				accepted, output := accepts(t, name, format)
				if err := model.CheckLogFormat(format); accepted != (err == nil) {
					t.Errorf("%q: the model returns %v, Envoy %s", format[:min(len(format), 40)], err, output)
				}
			}
		})
	}
}

// accepts reports whether Envoy accepts the format of an access log.
func accepts(t *testing.T, envoy, format string) (bool, string) {
	t.Helper()
	type object = map[string]any
	config, err := json.Marshal(object{"admin": object{
		"address": object{"pipe": object{"path": filepath.Join(t.TempDir(), "admin.sock")}},
		"access_log": []object{{"name": "log", "typed_config": object{
			"@type":      "type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog",
			"log_format": object{"text_format_source": object{"inline_string": format}},
		}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), envoy, "--mode", "validate", "--log-level", "error",
		"--config-yaml", string(config)).CombinedOutput()
	return err == nil, string(bytes.TrimSpace(output))
}
