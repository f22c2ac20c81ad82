package proxy

import (
	"reflect"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/tracing"
)

// openTracing makes the spans those of the settings, if they are others than the current ones.
func (p *Proxy) openTracing(old, a config.Admin) {
	if reflect.DeepEqual(old.Tracing, a.Tracing) {
		return
	}
	var t *tracing.Tracer
	if a.Tracing != nil {
		t = tracing.Open(a.Tracing, p.log)
	}
	if before := p.tracer.Swap(t); before != nil {
		p.running.Go(before.Close) // the collector may be slow
	}
}
