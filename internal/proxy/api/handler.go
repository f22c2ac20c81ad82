package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
)

// Proxy is what the API shows and changes.
type Proxy interface {
	// List returns the objects of a class: listeners, clusters, rulelists, rules, routes or sessions.
	List(class string, recursive bool) []any
	// Get returns an object of one of these classes or of endpoints; nil if there is none.
	Get(class, name string, recursive bool) any
	// Endpoints returns the endpoints of a cluster.
	Endpoints(cluster string) ([]any, bool)
	// RuleAt returns the rule at a position; nil if there is none.
	RuleAt(list, position string, recursive bool) any
	Config() any
	Admin() any
	Strict() bool

	Replace(c *config.Config) error
	SetAdmin(a config.Admin) error
	AddListener(l config.Listener) error
	UpdateListener(l config.Listener) error
	AddCluster(c config.Cluster) error
	UpdateCluster(c config.Cluster) error
	AddEndpoint(cluster string, e config.Endpoint) error
	AddRuleList(l config.RuleList) error
	UpdateRuleList(l config.RuleList) error
	AddRule(r config.Rule) error
	UpdateRule(r config.Rule) error
	InsertRule(list, position string, r config.RuleRef) error
	AddRoute(r config.Route) error
	UpdateRoute(r config.Route) error
	// Delete removes an object.
	Delete(class, name string, recursive bool) error
	RemoveRule(list, position string, recursive bool) error
}

// handler serves the API.
type handler struct{ Proxy }

// Handler returns the API of a proxy.
func Handler(p Proxy) http.Handler { return handler{p} }

// failure is an error with a status.
type failure struct {
	status  int
	message string // of the status; the usual one if empty
	content any
}

func (f *failure) Error() string { return fmt.Sprint(f.content) }

var (
	errUnknown  = &failure{status: http.StatusNotFound, content: "Unknown API operation"}
	errNotFound = &failure{status: http.StatusBadRequest, content: "Not Found"}
)

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, err := segments(r.URL)
	if err != nil {
		fail(w, &failure{status: http.StatusBadRequest, content: err.Error()})
		return
	}
	var out any
	switch r.Method {
	case http.MethodGet:
		out, err = h.get(path, r.URL.Query())
	case http.MethodPost:
		err = h.write(path, r, false)
	case http.MethodPut:
		err = h.write(path, r, true)
	case http.MethodDelete:
		err = h.remove(path, recursive(r.URL.Query()))
	default:
		err = errUnknown
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet {
		_, _ = io.WriteString(w, `{"status":200,"message":"OK"}`)
		return
	}
	text, err := format(out, r.URL.Query().Get("format"))
	if err != nil {
		fail(w, err)
		return
	}
	_, _ = w.Write(text)
}

// segments returns the parts of the path below /api/v1. Names with slashes are escaped in it.
func segments(u *url.URL) ([]string, error) {
	rest, is := strings.CutPrefix(u.EscapedPath(), "/api/v1/")
	if !is {
		return nil, nil
	}
	parts := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	for i, p := range parts {
		var err error
		if parts[i], err = url.PathUnescape(p); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// recursive reports whether a query has recursive, with any value but false.
func recursive(q url.Values) bool { return q.Has("recursive") && q.Get("recursive") != "false" }

// format returns the JSON of an answer.
func format(v any, name string) ([]byte, error) {
	switch name {
	case "", "plain", "lines", "diffy":
		return json.MarshalIndent(v, "", "  ")
	case "terse":
		return json.Marshal(v)
	case "space":
		text, err := json.MarshalIndent(v, "", " ")
		return []byte(strings.Join(strings.Fields(string(text)), " ")), err
	}
	return nil, &failure{status: http.StatusBadRequest, content: fmt.Sprintf("format %q is none of plain, terse, space, lines and diffy", name)}
}

func fail(w http.ResponseWriter, err error) {
	f := (*failure)(nil)
	if !errors.As(err, &f) {
		f = &failure{status: http.StatusBadRequest, content: err.Error()}
	}
	message := f.message
	if message == "" {
		message = http.StatusText(f.status)
	}
	text, err := json.MarshalIndent(struct {
		Status  int    `json:"status"`
		Message string `json:"message"`
		Content any    `json:"content"`
	}{f.status, message, f.content}, "", "    ")
	if err != nil {
		text = []byte(err.Error()) // values of JSON can be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(text)
}

// classes are the paths with lists of objects.
var classes = []string{"listeners", "clusters", "rulelists", "rules", "routes", "sessions"}

func (h handler) get(path []string, q url.Values) (out any, err error) {
	switch {
	case len(path) == 1 && path[0] == "config":
		return h.Config(), nil
	case len(path) == 1 && path[0] == "admin":
		return h.Admin(), nil
	case len(path) == 1 && slices.Contains(classes, path[0]):
		return h.List(path[0], recursive(q)), nil
	case len(path) == 2 && (path[0] == "endpoints" || slices.Contains(classes, path[0])):
		out = h.Get(path[0], path[1], recursive(q))
	case len(path) == 3 && path[0] == "clusters" && path[2] == "endpoints":
		all, has := h.Endpoints(path[1])
		if !has {
			return nil, errNotFound
		}
		return all, nil
	case len(path) == 4 && path[0] == "rulelists" && path[2] == "rules":
		out = h.RuleAt(path[1], path[3], recursive(q))
	default:
		return nil, errUnknown
	}
	if out == nil {
		return nil, errNotFound
	}
	return out, nil
}

func (h handler) remove(path []string, recursive bool) error {
	switch {
	case len(path) == 2 && (path[0] == "endpoints" || slices.Contains(classes, path[0])):
		return h.Delete(path[0], path[1], recursive)
	case len(path) == 4 && path[0] == "rulelists" && path[2] == "rules":
		return h.RemoveRule(path[1], path[3], recursive)
	}
	return errUnknown
}
