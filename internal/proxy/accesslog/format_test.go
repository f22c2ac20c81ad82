package accesslog

import (
	"os"
	"strings"
	"testing"
	"time"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// fields returns a function that looks up fields.
func fields(all map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { value, has := all[name]; return value, has }
}

var request = &Entry{
	Time: time.Date(2026, 3, 4, 5, 6, 7, 89_000_000, time.UTC), Path: "/client?a=b%20c", Status: 503, Cluster: "color",
	Address: "10.0.0.9:80", Version: "HTTP/1.1", Flags: "UF,URX", Retries: 2, Received: 4, Sent: 6, Seconds: 0.25,
	Metadata: map[string]any{
		"IP":  map[string]any{"src_addr": "10.0.0.1", "dst_addr": "fd00::2"},
		"TCP": map[string]any{"src_port": 40000, "dst_port": 8080},
		"TLS": map[string]any{"sni": "shop", "version": "TLS 1.3", "peer": map[string]any{"subject": "CN=a", "uris": []any{"spiffe://a", "b"}}},
	},
	Request:  fields(map[string]string{":method": "GET", ":path": "/sent?x", "x-user": "charly"}),
	Response: fields(map[string]string{"server": "app"}),
}

func TestOperators(t *testing.T) {
	t.Setenv("ANYMESH_TEST_ZONE", "a-1")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for format, want := range map[string]string{
		"%REQ(:METHOD)% 100%%":                  "GET 100%",
		"%REQ(X-OTHER?X-USER):3%":               "cha",
		"%REQ(X-OTHER)%|%RESP(Server)%":         "-|app",
		"%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%":    "/client?a=b%20c",
		"%PATH(NQ)% %PATH(WQ:PATH)%":            "/client /sent?x",
		"%QUERY_PARAM(a)%":                      "b c",
		"%RESPONSE_CODE% %RESPONSE_FLAGS%":      "503 UF,URX",
		"%BYTES_RECEIVED%/%BYTES_SENT%":         "4/6",
		"%DURATION% %PROTOCOL%":                 "250 HTTP/1.1",
		"%UPSTREAM_CLUSTER% %UPSTREAM_HOST%":    "color 10.0.0.9:80",
		"%UPSTREAM_REQUEST_ATTEMPT_COUNT%":      "3",
		"%DOWNSTREAM_DIRECT_REMOTE_ADDRESS%":    "10.0.0.1:40000",
		"%DOWNSTREAM_LOCAL_ADDRESS%":            "[fd00::2]:8080",
		"%DOWNSTREAM_LOCAL_PORT%":               "8080",
		"%DOWNSTREAM_PEER_URI_SAN%":             "spiffe://a,b",
		"%DOWNSTREAM_PEER_SUBJECT%":             "CN=a",
		"%DOWNSTREAM_TLS_VERSION%":              "TLSv1.3",
		"%REQUESTED_SERVER_NAME%":               "shop",
		"%START_TIME%":                          "2026-03-04T05:06:07.089Z",
		"%START_TIME(%Y/%m/%dT%H:%M:%S.%3f%z)%": "2026/03/04T05:06:07.089+0000",
		"%START_TIME(%3s)%":                     "1772600767089",
		"%ENVIRONMENT(ANYMESH_TEST_ZONE)%":      "a-1",
		"%HOSTNAME%":                            host,
		"%TRACE_ID%":                            "-",
	} {
		write, err := textFormat(format)
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		if got := string(write(nil, request)); got != want {
			t.Errorf("%s is %q, want %q", format, got, want)
		}
	}
}

// A session has no fields of requests.
func TestSessionsInFormats(t *testing.T) {
	write, err := textFormat("%REQ(:METHOD)% %RESP(a)% %RESPONSE_CODE% %PROTOCOL% %UPSTREAM_REQUEST_ATTEMPT_COUNT%\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(write(nil, &Entry{})); got != "- - 0 - 0\n" {
		t.Errorf("got %q", got)
	}
}

// The members of an object are sorted, and have the types of their operators.
func TestFields(t *testing.T) {
	write, err := fieldsFormat([]config.LogField{
		{Key: "status", Value: "%RESPONSE_CODE%"}, {Key: "from", Value: "user %REQ(X-USER)% of %REQ(X-NONE)%"},
		{Key: "missing", Value: "%REQ(X-NONE)%"}, {Key: "method", Value: "%REQ(:METHOD)%"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"from":"user charly of -","method":"GET","missing":null,"status":503}` + "\n"
	if got := string(write(nil, request)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSupportedLogFormat(t *testing.T) {
	text, unsupported := config.SupportedLogFormat("%%FOO%% %FOO% %REQ(a)% %METADATA(ROUTE:a:b)% %START_TIME(%U)% %START_TIME(%9f)%")
	if want := "%%FOO%% - %REQ(a)% - - %START_TIME(%9f)%"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if got := strings.Join(unsupported, " "); got != "%FOO% %METADATA(ROUTE:a:b)% %START_TIME(%U)%" {
		t.Errorf("unsupported are %s", got)
	}
	if _, err := config.ParseLogFormat("%FOO%"); err == nil {
		t.Error("an operator that is not supported is accepted")
	}
}
