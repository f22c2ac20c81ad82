package object

import (
	"strings"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// hostRules are hosts and their rule list.
type hostRules struct {
	hosts []string
	rules *Slot[RuleList]
}

// addHosts adds a rule list for hosts. The first list of a host counts.
func (l *RuleList) addHosts(h config.HostRules, rules *Slot[RuleList]) {
	l.hosts = append(l.hosts, hostRules{h.Hosts, rules})
	if l.byHost == nil {
		l.byHost = map[string]*Slot[RuleList]{}
	}
	for _, host := range h.Hosts {
		if key := strings.ToLower(host); l.byHost[key] == nil {
			l.byHost[key] = rules
		}
	}
}

// hostPath is where the metadata have the host of a request.
var hostPath = metadata.Path{"HTTP", "headers", "host"}

// ofHost returns the rule list for the host of a request; nil if there is none.
func (l *RuleList) ofHost(d metadata.Document) *Slot[RuleList] {
	if l.byHost == nil {
		return nil
	}
	host := strings.ToLower(d.Lookup(hostPath).Text)
	if of := l.byHost[host]; of != nil {
		return of
	}
	if name, _, has := strings.Cut(host, ":"); has {
		return l.byHost[name+":*"]
	}
	return nil
}

func (l *RuleList) hostsDump() []any {
	var out []any
	for _, h := range l.hosts {
		out = append(out, Object{"hosts": h.hosts, "rules": h.rules.Name})
	}
	return out
}
