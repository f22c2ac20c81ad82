package cache

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// exact returns the state at a version: a kept snapshot, or the current state without the changes since then.
func (c *kindCache) exact(v version.Vector, clusters []string) (*snapshot, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if v.Partial {
		return nil, expired("the version of an object is not a state of all clusters; use the version of a list")
	}
	if err := c.check(v, clusters); err != nil {
		return nil, err
	}
	text, now := v.String(), time.Now()
	for _, k := range c.kept {
		if k.is(text, clusters) && now.Before(k.until) {
			return k.state, nil
		}
	}
	if v.Integer > 0 {
		return c.exactInteger(v.Integer, clusters)
	}
	s := &snapshot{vector: v, clusters: map[*cluster]bool{}}
	for _, component := range v.Components {
		m := c.members[component.Cluster]
		if !m.synced || component.Version > m.position {
			return nil, tooLarge(component.Cluster)
		}
		if err := c.reachable(m, component.Version); err != nil {
			return nil, err
		}
		s.clusters[m.cluster] = true
	}
	if c.clone == nil {
		c.clone = c.objects.Clone()
	}
	s.objects = c.clone.Clone()
	for _, e := range slices.Backward(c.window.entries) {
		component, ok := v.Get(e.cluster.name)
		if !ok || !s.clusters[e.cluster] || e.to <= component.Version {
			continue
		}
		for _, change := range slices.Backward(e.changes) {
			s.undo(change)
		}
	}
	return s, nil
}

func (s *snapshot) undo(change change) {
	if change.old == nil {
		s.objects.Delete(change.new)
	} else {
		s.objects.ReplaceOrInsert(change.old)
	}
}

// reachable returns 410 if the window does not have all changes since a position. The mutex is held.
func (c *kindCache) reachable(m *memberState, at uint64) error {
	if at < m.floor {
		return expired("version %d of cluster %s is too old (%d); list again", at, m.cluster.name, m.floor)
	}
	if c.window.lists == 0 {
		return nil
	}
	for _, e := range c.window.entries {
		if e.cluster == m.cluster && e.batch && !e.joined && e.from < at && at < e.to {
			return expired("the history of cluster %s at version %d is not known; list again", m.cluster.name, at)
		}
	}
	return nil
}

// token is the position of a page.
type token struct {
	Version   string `json:"rv"`
	Namespace string `json:"ns,omitempty"`
	Name      string `json:"name"`
	Cluster   string `json:"cluster"`
	Remaining int64  `json:"remaining,omitempty"`
	version   version.Vector
}

func newToken(text string, last *object, remaining int64) string {
	t := token{Version: text, Namespace: last.namespace, Name: last.name, Cluster: last.cluster.name}
	t.Remaining = remaining
	encoded, err := json.Marshal(t)
	if err != nil {
		panic(err) // Strings and numbers can be encoded.
	}
	return base64.RawURLEncoding.EncodeToString(encoded)
}

func (c *kindCache) parseToken(text string) (token, error) {
	var t token
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(decoded, &t)
	}
	if err == nil {
		t.version, err = c.parse(t.Version)
	}
	if apierrors.IsResourceExpired(err) {
		return t, err
	}
	if err != nil || t.version.IsAny() || t.Name == "" || t.Remaining < 0 {
		return t, apierrors.NewBadRequest("continue: the token is not valid; list again without it")
	}
	return t, nil
}

// after returns the key of the last object of the previous page.
func (t token) after() *object {
	return &object{cluster: &cluster{name: t.Cluster}, namespace: t.Namespace, name: t.Name}
}
