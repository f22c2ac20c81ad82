package model_test

import (
	"strings"
	"testing"

	"anymesh.dev/anymesh/model"
)

func TestCheckLogFormat(t *testing.T) {
	for _, valid := range []string{
		"", "text\n", "100%% of %REQ(:PATH)%", "%%%PROTOCOL%%%", "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)% %PROTOCOL()%",
		"%REQ(:AUTHORITY):20%", "%START_TIME(%Y/%m/%dT%H:%M:%S%z %s.%3f)%", "%START_TIME%", "%GRPC_STATUS(NUMBER)%",
		"%COMMON_DURATION(DS_RX_BEG:US_TX_END:ms)%", `%UPSTREAM_METADATA(["a","b"])%`, "%FILTER_STATE(a:FIELD:x):7%",
		"%PATH(NQ:ORIG):9%", "%METADATA(ROUTE:a:b)%", "%RESPONSE_CODE%\"{}\\é\t",
	} {
		if err := model.CheckLogFormat(valid); err != nil {
			t.Errorf("%q: %v", valid, err)
		}
	}
	for invalid, text := range map[string]string{
		"%FOO%":                    "operator %FOO%: it is not supported",
		"%CEL(request.path)%":      "operator %CEL%: it is not supported",
		"a 100% b":                 `"% b"`,
		"100%":                     `"%" is not an operator`,
		"%req(a)%":                 `"%req(a)" is not an operator`,
		"%REQ(a%":                  `"%REQ(a" is not an operator`,
		"%REQ(a\nb)%":              "is not an operator",
		"%REQ%":                    "operator %REQ%: its argument is missing",
		"%REQ()%":                  "its argument is missing",
		"%REQ(a?b?c)%":             `its argument "a?b?c" is invalid`,
		"%REQ(é)%":                 "is invalid",
		"%PROTOCOL(x)%":            "operator %PROTOCOL%: it has no argument",
		"%PROTOCOL:3%":             "operator %PROTOCOL%: it has no length",
		"%START_TIME(%n)%":         "is invalid",
		"%START_TIME(%0n)%":        "is invalid",
		"%GRPC_STATUS(x)%":         "is invalid",
		"%COMMON_DURATION(a:b:s)%": "is invalid",
		"%FILTER_STATE(a:b)%":      "is invalid",
		"%PATH(x)%":                "is invalid",
		"%REQ(a):1234567890123%":   "is not an operator",
	} {
		if err := model.CheckLogFormat(invalid); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q: got error %v, want %q", invalid, err, text)
		}
	}
}

func TestAccessLogFolder(t *testing.T) {
	for path, want := range map[string]string{
		"/dev/stdout": "", "/dev/stderr": "", "/var/log/access.log": "/var/log", "/tmp/a.log": "/tmp",
		"/logs/app/a.log": "/logs/app", "/a.log": "", "/etc/a.log": "", "/etc/app/a.log": "", "/usr/local/a.log": "",
		"/var/a.log": "", "/var/run/secrets/a.log": "", "/run/anymesh/a.log": "", "/etcetera/a.log": "/etcetera",
		"/dev/shm/a.log": "",
	} {
		if got := (&model.AccessLog{Path: path}).Folder(); got != want {
			t.Errorf("%s: got folder %q, want %q", path, got, want)
		}
	}
}

func TestHasNode(t *testing.T) {
	w := model.Workload{NodeID: "mesh/m@123456789012/virtualNode/a"}
	for id, want := range map[string]bool{
		"mesh/m@123456789012/virtualNode/a": true, "mesh/m/virtualNode/a": true, "mesh/m@999/virtualNode/a": true,
		"mesh/m/virtualNode/b": false, "mesh/n@123456789012/virtualNode/a": false, "": false,
		"mesh/m@x/y/virtualNode/a": false, "mesh/m@/virtualNode/a": true,
	} {
		if got := w.HasNode(id); got != want {
			t.Errorf("%q: got %v, want %v", id, got, want)
		}
	}
}
