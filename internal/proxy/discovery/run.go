package discovery

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"anymesh.dev/anymesh/internal/adminsocket"
	"anymesh.dev/anymesh/internal/proxy"
	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/xdsclient"
)

// drainTime is how long sessions and requests may go on after the context of Run has ended.
const drainTime = 10 * time.Second

// Options are the settings of a proxy.
type Options struct {
	// Socket is the Unix domain socket on which the agent relays the configuration, and Node the xDS node ID.
	Socket, Node string
	// Admin is the Unix domain socket of package adminsocket; empty for none.
	Admin string
	// Level is the level of the log, which requests on Admin change; nil if they cannot.
	Level *slog.LevelVar
}

// actions are those of the requests on Admin.
func (o Options) actions(p *proxy.Proxy, log *slog.Logger) adminsocket.Actions {
	out := adminsocket.Actions{Drain: p.Retire}
	if o.Level != nil {
		out.SetLevel = func(name string) bool {
			level, known := Level(name)
			if known {
				o.Level.Set(level)
				log.Debug("the log level has changed", "level", name)
			}
			return known
		}
	}
	return out
}

// Run runs a proxy until the context ends, with the configuration that the agent relays. Then sessions and requests may
// go on for 10 seconds.
func Run(ctx context.Context, o Options, log *slog.Logger) error {
	ignoreReopen()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	p := proxy.New(running, log)
	if o.Admin != "" {
		if err := adminsocket.Serve(running, o.Admin, o.actions(p, log), log); err != nil {
			return err
		}
	}
	all := parts{proxy: p, applied: map[string]*config.Config{}, owners: map[object]string{}}
	err := xdsclient.Follow(ctx, xdsclient.Options{Socket: o.Socket, Node: o.Node, Type: config.ResourceType}, all.take, log)
	limit, cancel := context.WithTimeout(running, drainTime)
	defer cancel()
	p.Drain(limit)
	stop()
	p.Wait()
	return err
}

// take applies the changes of a response. The proxy keeps the part before one that is refused.
func (p *parts) take(all []xdsclient.Change) map[string]error {
	var changes []change
	refused := map[string]error{}
	for _, c := range all {
		if c.Body == nil {
			changes = append(changes, change{name: c.Name})
			continue
		}
		part, err := parse(c.Body)
		if err != nil {
			refused[c.Name] = err
			continue
		}
		changes = append(changes, change{c.Name, part})
	}
	maps.Copy(refused, p.apply(changes))
	return refused
}
