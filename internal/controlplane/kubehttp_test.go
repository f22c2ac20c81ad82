package controlplane

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"anymesh.dev/anymesh/test/freeport"
)

// ServeHTTP implements http.Handler.
func (k *kubeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := strings.TrimSuffix(r.URL.Path, "/"); {
	case path == "/api":
		reply(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case path == "/apis":
		groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		for prefix := range kinds {
			if gv, named := strings.CutPrefix(prefix, "/apis/"); named {
				name, version, _ := strings.Cut(gv, "/")
				v := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version}
				groups.Groups = append(groups.Groups,
					metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
			}
		}
		reply(w, groups)
	case kinds[path] != "":
		reply(w, resources(path))
	case r.URL.Query().Get("watch") != "":
		k.watch(w, r, path)
	default:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.serve(w, r, strings.TrimSuffix(path, "/status"))
	}
}

func resources(group string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	list.GroupVersion = strings.TrimPrefix(strings.TrimPrefix(group, "/apis/"), "/api/")
	for entry := range strings.FieldsSeq(kinds[group]) {
		name, kind, _ := strings.Cut(entry, ":")
		plain, namespaced := strings.CutSuffix(name, "*")
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: plain, Kind: kind, Namespaced: namespaced,
			Verbs: metav1.Verbs{"get", "list", "watch", "create", "update", "patch", "delete"},
		})
	}
	return list
}

// serve serves all requests except watches. The caller holds the lock.
func (k *kubeAPI) serve(w http.ResponseWriter, r *http.Request, path string) {
	stored := k.objects[path]
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	switch apiVersion, kind := listKind(path); {
	case r.Method == http.MethodGet && kind != "":
		list := unstructured.UnstructuredList{
			Object: map[string]any{
				"apiVersion": apiVersion, "kind": kind,
				"metadata": map[string]any{"resourceVersion": strconv.Itoa(k.version)},
			},
		}
		for _, p := range k.listPaths(path) {
			list.Items = append(list.Items, *k.objects[p])
		}
		reply(w, &list)
	case r.Method == http.MethodPost:
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(body); err != nil {
			replyError(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		path += "/" + o.GetName()
		if k.objects[path] != nil {
			replyError(w, http.StatusConflict, metav1.StatusReasonAlreadyExists, path+" already exists")
			return
		}
		k.store(path, "ADDED", o)
		reply(w, k.objects[path])
	case stored == nil:
		replyError(w, http.StatusNotFound, metav1.StatusReasonNotFound, path+" not found")
	case r.Method == http.MethodGet:
		reply(w, stored)
	case r.Method == http.MethodDelete:
		k.store(path, "DELETED", stored)
		reply(w, metav1.Status{Status: metav1.StatusSuccess})
	default: // PUT and PATCH
		o := &unstructured.Unstructured{}
		if r.Method == http.MethodPatch {
			o, err = merge(stored, body)
		} else {
			err = o.UnmarshalJSON(body)
		}
		if err != nil {
			replyError(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		if version := o.GetResourceVersion(); version != "" && version != stored.GetResourceVersion() {
			replyError(w, http.StatusConflict, metav1.StatusReasonConflict, path+" has another resource version")
			return
		}
		k.store(path, "MODIFIED", o)
		reply(w, k.objects[path])
	}
}

// listKind returns the kind of a list path, or "" for an object path.
func listKind(path string) (apiVersion, kind string) {
	for group, list := range kinds {
		rest, ok := strings.CutPrefix(path, group+"/")
		if !ok {
			continue
		}
		parts := strings.Split(rest, "/")
		for entry := range strings.FieldsSeq(list) {
			name, kind, _ := strings.Cut(entry, ":")
			if strings.TrimSuffix(name, "*") == parts[len(parts)-1] && len(parts) != 2 {
				return strings.TrimPrefix(strings.TrimPrefix(group, "/apis/"), "/api/"), kind + "List"
			}
		}
	}
	return "", ""
}

// watch sends the events after a resource version.
func (k *kubeAPI) watch(w http.ResponseWriter, r *http.Request, path string) {
	if r.URL.Query().Get("sendInitialEvents") != "" {
		replyError(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid,
			"sendInitialEvents is forbidden: not supported by older API servers")
		return
	}
	seen, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil {
		replyError(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	encoder, controller := json.NewEncoder(w), http.NewResponseController(w)
	w.Header().Set("Content-Type", "application/json")
	_ = controller.Flush()
	for {
		k.mu.Lock()
		expired, history, changed := seen < k.compacted, k.history, k.changed
		k.mu.Unlock()
		if expired {
			_ = encoder.Encode(map[string]any{
				"type":   "ERROR",
				"object": errorStatus(http.StatusGone, metav1.StatusReasonExpired, "too old resource version"),
			})
			return
		}
		for _, c := range history {
			if c.version <= seen {
				continue
			}
			seen = c.version
			if inCollection(c.path, path) {
				_ = encoder.Encode(map[string]any{"type": c.eventType, "object": c.object})
			}
		}
		_ = controller.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}

// apiProcess is an API server at a fixed address that can be killed and restarted.
type apiProcess struct {
	t       *testing.T
	handler http.Handler
	address string

	mu     sync.Mutex
	server *http.Server
	fault  func(http.ResponseWriter, *http.Request) (answered bool)
}

// newAPIProcess reserves an address. Connections are refused until run is called.
func newAPIProcess(t *testing.T, handler http.Handler) *apiProcess {
	p := &apiProcess{t: t, handler: handler, address: freeport.Address(t)}
	t.Cleanup(p.kill)
	return p
}

func (p *apiProcess) run() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	server := &http.Server{Handler: http.HandlerFunc(p.serveHTTP)}
	p.server = server
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			p.t.Error(err)
		}
	}()
}

// kill closes the listener and all connections.
func (p *apiProcess) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server != nil {
		p.server.Close()
		p.server = nil
	}
}

// inject sets a function that may respond instead of the API server.
func (p *apiProcess) inject(fault func(http.ResponseWriter, *http.Request) (answered bool)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = fault
}

// injectBefore adds a fault that takes precedence over the current one.
func (p *apiProcess) injectBefore(fault func(http.ResponseWriter, *http.Request) (answered bool)) {
	p.mu.Lock()
	next := p.fault
	p.mu.Unlock()
	p.inject(func(w http.ResponseWriter, r *http.Request) bool { return fault(w, r) || next(w, r) })
}

func (p *apiProcess) serveHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	fault := p.fault
	p.mu.Unlock()
	if fault != nil && fault(w, r) {
		return
	}
	p.handler.ServeHTTP(w, r)
}
