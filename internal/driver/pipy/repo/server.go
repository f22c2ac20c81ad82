package repo

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"anymesh.dev/anymesh/internal/driver/pipy"
)

// maxWait is how long an answer about config.json may take if nothing changes.
const maxWait = 30 * time.Second

// root is the path of the list of files, and folder that of the files.
const (
	folder = "/repo"
	root   = folder + "/"
)

// handler serves the repo protocol: at root the list of the files, the first of which is the main script, with an ETag
// that changes when pipy must load them again.
func (c *codebase) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+root+"{$}", func(w http.ResponseWriter, _ *http.Request) {
		if _, _, _, ok := c.state(); !ok {
			http.Error(w, "there is no configuration yet", http.StatusServiceUnavailable)
			return
		}
		names := []string{"/main.js"}
		for _, name := range pipy.ScriptNames() {
			if name != "main.js" {
				names = append(names, "/"+name)
			}
		}
		w.Header().Set("ETag", c.staticVersion())
		_, _ = w.Write([]byte(strings.Join(slices.Concat(names, []string{"/config.json", "/trust.json"}), "\n")))
	})
	mux.HandleFunc("GET "+root+"trust.json", func(w http.ResponseWriter, _ *http.Request) {
		text, _ := json.Marshal(c.trusts()) // strings
		_, _ = w.Write(text)
	})
	mux.HandleFunc("GET "+root+"config.json", c.serveConfig)
	mux.HandleFunc("GET "+root+"{name}", func(w http.ResponseWriter, r *http.Request) {
		text, known := pipy.Script(r.PathValue("name"))
		if !known {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(text)
	})
	return mux
}

// serveConfig serves config.json. With the parameter "after", it waits for another version than that, and the status is
// 304 if there is none for a time.
func (c *codebase) serveConfig(w http.ResponseWriter, r *http.Request) {
	timeout := time.After(maxWait)
	for {
		text, version, changed, ok := c.state()
		switch {
		case !ok:
			http.Error(w, "there is no configuration yet", http.StatusServiceUnavailable)
			return
		case r.URL.Query().Get("after") != version:
			_, _ = w.Write(text)
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-timeout:
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
}
