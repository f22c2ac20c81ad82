package pipy

import (
	"regexp"
	"strings"
	"testing"
)

// pipy ends connections that are idle for 60 seconds, unless a script says otherwise. No connection of the application
// ends so: those that the scripts accept from other addresses, and those that they open to endpoints.
func TestIdleConnectionsStay(t *testing.T) {
	text, _ := Script("main.js")
	found := regexp.MustCompile(`\.listen\('0\.0\.0\.0:.*|\.connect\(\(\) => .*`).FindAllString(string(text), -1)
	if len(found) < 5 {
		t.Errorf("%d listeners and connections in main.js; the expression of this test is outdated", len(found))
	}
	for _, line := range found {
		if !strings.Contains(line, "idleTimeout: 0 }") {
			t.Errorf("idle connections end after 60 seconds: %s", line)
		}
	}
}
