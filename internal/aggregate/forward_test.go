package aggregate

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"

	"anymesh.dev/anymesh/internal/fleet"
)

// TestBrokenResponseIsLogged guards log collectors that parse each line: the proxy of the standard library writes text
// to standard error.
func TestBrokenResponseIsLogged(t *testing.T) {
	member := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "10")
		_, _ = w.Write([]byte("abc"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	defer member.Close()
	to, err := fleet.NewEndpoint(&rest.Config{Host: member.URL})
	if err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&lines, nil))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		forward(w, r, to, &user.DefaultInfo{Name: "jane"}, "cluster east", log)
	}))
	response, err := http.Get(front.URL + "/api/v1/namespaces/shop/pods/web/log")
	if err == nil {
		_, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err == nil {
		t.Error("the client does not see that the response breaks")
	}
	front.Close()
	var line struct{ Level, Server, Path, Error string }
	if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
		t.Fatalf("no line of JSON: %v: %q", err, lines.String())
	}
	if want := "ReverseProxy read error during body copy: unexpected EOF"; line.Level != "WARN" ||
		line.Server != "cluster east" || line.Path != "/api/v1/namespaces/shop/pods/web/log" || line.Error != want {
		t.Errorf("got %s, want a warning about cluster east with %q", lines.String(), want)
	}
}
