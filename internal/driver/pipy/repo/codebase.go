package repo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"anymesh.dev/anymesh/internal/driver/pipy"
	"anymesh.dev/anymesh/internal/xdsclient"
)

// codebase is what pipy loads. It is safe for concurrent use.
type codebase struct {
	mu     sync.Mutex
	parts  map[string]pipy.Config
	config pipy.Config
	text   []byte // of config
	// draining is true when clients are asked to leave.
	draining bool
	// changed is closed when config changes.
	changed chan struct{}
}

func newCodebase() *codebase {
	return &codebase{parts: map[string]pipy.Config{}, changed: make(chan struct{})}
}

// take applies changes. A part that is no configuration is refused.
func (c *codebase) take(changes []xdsclient.Change) map[string]error {
	c.mu.Lock()
	defer c.mu.Unlock()
	refused := map[string]error{}
	for _, change := range changes {
		if change.Body == nil {
			delete(c.parts, change.Name)
			continue
		}
		var part pipy.Config
		if err := json.Unmarshal(change.Body, &part); err != nil {
			refused[change.Name] = err
			continue
		}
		c.parts[change.Name] = part
	}
	c.update()
	return refused
}

// update makes config.json of the parts. The caller holds the lock.
func (c *codebase) update() {
	all := pipy.Config{Draining: c.draining, ClustersConfigs: map[string]pipy.Cluster{}}
	for _, part := range c.parts {
		maps.Copy(all.ClustersConfigs, part.ClustersConfigs)
		if part.Spec != nil {
			all.Spec, all.Inbound, all.Outbound = part.Spec, part.Inbound, part.Outbound
		}
	}
	text, _ := json.Marshal(all) // it was JSON before
	if version := hash(text); version != c.config.Version {
		all.Version = version
		c.config = all
		c.text, _ = json.Marshal(all)
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// state returns config.json with its version, and a channel that is closed when it changes. It reports false until
// there is a configuration of the workload.
func (c *codebase) state() (text []byte, version string, changed <-chan struct{}, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text, c.config.Version, c.changed, c.config.Spec != nil
}

// trusts lists the files with trusted authorities, and "" for none, sorted.
func (c *codebase) trusts() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[string]bool{"": true}
	add := func(t *pipy.TLS) {
		if t != nil {
			all[t.Trusted] = true
		}
	}
	if c.config.Inbound != nil {
		for _, m := range c.config.Inbound.TrafficMatches {
			add(m.TLS)
		}
	}
	for _, cluster := range c.config.ClustersConfigs {
		add(cluster.TLS)
	}
	return slices.Sorted(maps.Keys(all))
}

// staticVersion is a hash of what pipy reads only when it loads the scripts.
func (c *codebase) staticVersion() string {
	sum := sha256.New()
	for _, name := range c.trusts() {
		stat, err := os.Stat(name)
		if err != nil {
			fmt.Fprintf(sum, "%s missing\n", name)
			continue
		}
		fmt.Fprintf(sum, "%s %s\n", name, stat.ModTime())
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
