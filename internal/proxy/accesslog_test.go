package proxy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

const logConfig = `
admin: {access_log_path: %s, access_log_format: %s, offload: init, offload_ifs: [all]}
listeners:
- name: api
  spec: {protocol: HTTP, port: $API, address: 127.0.0.1}
  rules: [{action: {route: {destination: {spec: {protocol: L7mpController}}}}}]
- name: web
  spec: {protocol: HTTP, port: $WEB, address: 127.0.0.1}
  options: {track: 60}
  rules: [{action: {route: {destination: {name: up, spec: {protocol: HTTP, port: %s}, endpoints: [{name: e, spec: {address: 127.0.0.1}}]}}}}]
- name: echo
  spec: {protocol: TCP, port: $ECHO, address: 127.0.0.1}
  rules: [{action: {route: {destination: {name: echo, spec: {protocol: Echo}}}}}]
`

// Requests and sessions have a line each in the access log, as text and as JSON; a renamed file is opened again.
func TestAccessLog(t *testing.T) {
	up := httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(201)
		_, _ = io.WriteString(w, "answer")
	})
	for _, format := range []string{"text", "json"} {
		file := t.TempDir() + "/access.log"
		at := start(t, fmt.Sprintf(logConfig, file, format, up), "API", "WEB", "ECHO")
		do(t, request(t, "POST", "http://"+at["WEB"]+"/a?b", strings.NewReader("body")))
		lines := func(name, cluster string) string {
			text, _ := os.ReadFile(name)
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, cluster) {
					return line
				}
			}
			return ""
		}
		until(t, "a line of a request", func() bool { return lines(file, "up") != "" })
		line := lines(file, "up")
		wants := []string{` web HTTP "HTTP:127.0.0.1:`, `"POST" "` + at["WEB"] + `" "/a?b" status=201 cluster=up endpoint=e retries=0 received=4 sent=6`}
		if format == "json" {
			wants = []string{`"listener":"web"`, `"method":"POST"`, `"path":"/a?b"`, `"status":201`, `"endpoint":"e"`, `"received_bytes":4,"sent_bytes":6`}
			if !json.Valid([]byte(line)) {
				t.Errorf("no JSON: %s", line)
			}
		}
		for _, want := range wants {
			if !strings.Contains(line, want) {
				t.Errorf("got %s, want %s", line, want)
			}
		}
		if err := os.Rename(file, file+".1"); err != nil {
			t.Fatal(err)
		}
		c := dial(t, "tcp", at["ECHO"])
		_, _ = io.WriteString(c, "hello")
		_, _ = io.ReadFull(c, make([]byte, 5))
		_ = c.Close()
		until(t, "a line of a session", func() bool { return lines(file, "echo") != "" })
	}
}

// HTTP requests are in the list of sessions while they are served, and as long as track says afterwards.
func TestRequestsAreSessions(t *testing.T) {
	begun := make(chan struct{})
	up := httpServer(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(begun)
			<-r.Context().Done()
		}
	})
	at := start(t, fmt.Sprintf(logConfig, "stderr", "text", up), "API", "WEB", "ECHO")
	api := client{t, "http://" + at["API"] + "/api/v1/"}
	do(t, request(t, "GET", "http://"+at["WEB"]+"/quick", nil))
	until(t, "the request that has ended", func() bool {
		list := api.get("sessions")
		return strings.Contains(list, `"DESTROYED"`) && strings.Contains(list, "status 200") && strings.Contains(list, "/quick")
	})
	failed := make(chan error)
	go func() {
		response, err := http.Post("http://"+at["WEB"]+"/slow", "", nil)
		if err == nil {
			_ = response.Body.Close()
		}
		failed <- err
	}()
	<-begun
	var all []struct{ Name, Status string }
	if err := json.Unmarshal([]byte(api.get("sessions")), &all); err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Status == "CONNECTED" {
			if one := api.get("sessions/" + s.Name); !strings.Contains(one, "/slow") || !strings.Contains(one, `"origin":"up"`) {
				t.Errorf("got %s", one)
			}
			do(t, request(t, "DELETE", "http://"+at["API"]+"/api/v1/sessions/"+s.Name, nil))
		}
	}
	if err := <-failed; err == nil {
		t.Error("the deleted request got a response")
	}
}
