package membertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Request is a request for an object, or for a collection other than list and watch.
type Request struct {
	Method, Path string
	Query        url.Values
	Header       http.Header
	Body         []byte
}

// Requests returns the requests so far, except lists and watches.
func (m *Member) Requests() []Request {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return slices.Clone(m.requests)
}

// target is what a path names: /api/v1/pods is the kind.
type target struct{ kind, namespace, name, subresource string }

func targetOf(path string) target {
	kind, namespace := split(path)
	parts := strings.Split(kind, "/")
	n := 4 // of /api/v1/pods
	if strings.HasPrefix(kind, "/apis/") {
		n = 5
	}
	t := target{kind: kind, namespace: namespace}
	if len(parts) <= n {
		return t
	}
	t.kind, t.name = strings.Join(parts[:n], "/"), parts[n]
	if len(parts) > n+1 {
		t.subresource = strings.Join(parts[n+1:], "/")
	}
	return t
}

// answerObject answers a request for an object and the deletion of a collection, and returns false for other requests.
// Subresources answer what they get.
func (m *Member) answerObject(w http.ResponseWriter, r *http.Request) bool {
	t := targetOf(r.URL.Path)
	if t.name == "" && r.Method == http.MethodGet {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return true // the client is gone
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.requests = append(m.requests, Request{r.Method, r.URL.Path, r.URL.Query(), r.Header.Clone(), body})
	key := t.namespace + "/" + t.name
	old, exists := m.objects[t.kind][key]
	switch {
	case t.name == "" && r.Method == http.MethodPost:
		m.create(w, t, body)
	case t.name == "":
		for name := range m.objects[t.kind] {
			if strings.HasPrefix(name, t.namespace+"/") {
				m.delete(t.kind, name)
			}
		}
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Success","code":200}`)
	case strings.HasPrefix(t.subresource, "proxy/"):
		fmt.Fprint(w, "answer of "+t.name)
	case !exists && r.Method != http.MethodPut:
		fail(w, http.StatusNotFound, "NotFound", t.name+" not found")
	case t.subresource == "log":
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(w, "log of %s", t.name)
	case r.Method == http.MethodGet:
		_, _ = w.Write(old)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write(body)
	case r.Method == http.MethodDelete:
		var options Object
		_ = json.Unmarshal(body, &options) // no body is no options
		preconditions, _ := options["preconditions"].(Object)
		if !fits(old, preconditions) {
			fail(w, http.StatusConflict, "Conflict", "the preconditions do not fit")
			return true
		}
		m.delete(t.kind, key)
		_, _ = w.Write(old)
	default:
		m.update(w, r, t, old, body)
	}
	return true
}

// create answers POST of an object.
func (m *Member) create(w http.ResponseWriter, t target, body []byte) {
	var next Object
	if err := json.Unmarshal(body, &next); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	metadata, _ := next["metadata"].(Object)
	if metadata["resourceVersion"] != nil || m.objects[t.kind][keyOf(next)] != nil {
		fail(w, http.StatusConflict, "AlreadyExists", "the object exists, or has a version")
		return
	}
	metadata["uid"] = fmt.Sprintf("uid-%d", m.version)
	stored := m.put(t.kind, next)
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(stored)
}

// update answers PUT, JSON merge patches and server-side apply, which it treats as a merge patch.
func (m *Member) update(w http.ResponseWriter, r *http.Request, t target, old json.RawMessage, body []byte) {
	var next Object
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(&next); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error())
		return
	}
	metadata, _ := next["metadata"].(Object)
	if old == nil && metadata["uid"] != nil || old != nil && !fits(old, metadata) {
		fail(w, http.StatusConflict, "Conflict", "the object has been modified")
		return
	}
	if r.Method == http.MethodPatch {
		next = merge(decode(old), next)
	}
	_, _ = w.Write(m.put(t.kind, next))
}

// fits reports whether an object has the uid and the version of preconditions, if any.
func fits(raw json.RawMessage, preconditions Object) bool {
	metadata := decode(raw)["metadata"].(Object)
	for _, name := range []string{"uid", "resourceVersion"} {
		if want, ok := preconditions[name].(string); ok && want != "" && want != metadata[name] {
			return false
		}
	}
	return true
}

// merge applies a JSON merge patch.
func merge(to, patch Object) Object {
	to = maps.Clone(to)
	if to == nil {
		to = Object{}
	}
	for name, value := range patch {
		inner, isObject := value.(Object)
		switch {
		case value == nil:
			delete(to, name)
		case isObject:
			before, _ := to[name].(Object)
			to[name] = merge(before, inner)
		default:
			to[name] = value
		}
	}
	return to
}
