package native

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

const (
	// restPodInterval is how often the list of pods is read: changes of the catalog do not tell all of them.
	restPodInterval = 5 * time.Second
	// restReadInterval is how often what a proxy has is read again: it loses everything when it restarts.
	restReadInterval = 30 * time.Second
	// restMinBackoff and restMaxBackoff limit the time between attempts that fail.
	restMinBackoff = 500 * time.Millisecond
	restMaxBackoff = 30 * time.Second
)

// restPusher configures proxies without an agent over the REST API of l7mp.
type restPusher struct {
	catalog sidecar.Catalog
	broker  *sidecar.Broker
	report  func(subject string, findings []model.Finding)
	port    uint16
	http    *http.Client

	mu   sync.Mutex
	pods map[restTarget]*restPod
}

// newRESTPusher returns a pusher for the proxies of a driver.
func newRESTPusher(of *sidecar.ControllerContext) *restPusher {
	return &restPusher{
		catalog: of.MeshCatalog, broker: of.MsgBroker, report: of.Report, port: restPort,
		http: &http.Client{
			Transport:     &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: 2 * restReadInterval}, // no proxy of the environment
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// restTarget is a proxy: a pod at an address.
type restTarget struct {
	workload model.Key
	pod      model.Instance
	address  netip.Addr
}

func (t restTarget) String() string { return t.pod.Namespace + "/" + t.pod.Name }

// restPod is the goroutine of a proxy.
type restPod struct {
	target restTarget
	wake   chan struct{} // has a value after a change
	stop   context.CancelFunc

	mu           sync.Mutex
	destinations map[model.Key]bool // of its last plan; nil before
	state        sidecar.Proxy
}

// run configures the proxies until the context ends. A slow proxy holds up no other.
func (r *restPusher) run(ctx context.Context) {
	changes := r.broker.Subscribe()
	defer changes.Unsubscribe()
	var running sync.WaitGroup
	defer running.Wait()
	defer func() {
		r.mu.Lock()
		r.pods = nil
		r.mu.Unlock()
	}()
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, restPodInterval)
		c, err := changes.Next(waiting)
		cancel()
		if err != nil && waiting.Err() == nil {
			return
		}
		for ofPod, p := range r.update(ctx, c) {
			running.Go(func() { r.serve(ofPod, p) })
		}
	}
}

// update stops what configures pods that are gone, wakes those that changes concern, and returns the new pods.
func (r *restPusher) update(ctx context.Context, c sidecar.Changes) map[context.Context]*restPod {
	targets := r.targets()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pods == nil {
		r.pods = map[restTarget]*restPod{}
	}
	for target, p := range r.pods {
		switch {
		case !targets[target]:
			p.stop()
			delete(r.pods, target)
		case p.concerns(c):
			p.wakeUp()
		}
	}
	added := map[context.Context]*restPod{}
	for target := range targets {
		if r.pods[target] == nil {
			ofPod, stop := context.WithCancel(ctx)
			p := &restPod{target: target, wake: make(chan struct{}, 1), stop: stop}
			p.state = sidecar.Proxy{
				Workload: target.workload, Pod: target.pod, Since: time.Now(),
				Address: netip.AddrPortFrom(target.address, r.port).String(),
			}
			r.pods[target], added[ofPod] = p, p
		}
	}
	return added
}

// proxies returns the state of the proxies, by their addresses.
func (r *restPusher) proxies() []sidecar.Proxy {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []sidecar.Proxy
	for _, p := range r.pods {
		p.mu.Lock()
		out = append(out, p.state)
		p.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b sidecar.Proxy) int { return strings.Compare(a.Address, b.Address) })
	return out
}

// targets returns the proxies that there are.
func (r *restPusher) targets() map[restTarget]bool {
	out := map[restTarget]bool{}
	for _, workload := range r.catalog.Workloads() {
		for _, e := range r.catalog.WithoutAgent(workload) {
			if len(e.Addresses) > 0 {
				out[restTarget{workload, e.Instance, e.Addresses[0]}] = true
			}
		}
	}
	return out
}

// concerns reports whether changes may change the plan of the pod.
func (p *restPod) concerns(c sidecar.Changes) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return c.All || p.destinations == nil || slices.Contains(c.Workloads, p.target.workload) ||
		slices.ContainsFunc(c.Destinations, func(d model.Key) bool { return p.destinations[d] })
}

func (p *restPod) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// serve configures one proxy until the context ends. What fails is repeated after a pause that doubles.
func (r *restPusher) serve(ctx context.Context, p *restPod) {
	defer r.report(p.target.String(), nil)
	base := fmt.Sprintf("http://%s/api/v1/", netip.AddrPortFrom(p.target.address, r.port))
	s := &restSync{restClient: restClient{base, r.http}, pod: p.target.String()}
	backoff := restMinBackoff
	for {
		wait := restReadInterval
		if r.sync(ctx, p, s) {
			backoff = restMinBackoff
		} else {
			wait, backoff = backoff, min(2*backoff, restMaxBackoff)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-p.wake:
			timer.Stop()
		case <-timer.C:
			s.state = nil
		}
	}
}

// sync sends the differences to a proxy, and reports what it refuses. It reports false if something has to be repeated.
func (r *restPusher) sync(ctx context.Context, p *restPod, s *restSync) bool {
	view, known := r.catalog.View(p.target.workload)
	if !known {
		return true // a change is coming
	}
	plan := newRestPlan(view, func(key model.Key) (model.ResolvedDestination, bool) {
		return r.catalog.ResolvedDestination(p.target.workload, key)
	})
	p.mu.Lock()
	p.destinations = plan.destinations
	p.mu.Unlock()
	findings, err := s.sync(ctx, plan)
	if ctx.Err() != nil {
		return true
	}
	if err != nil {
		findings = append(findings, model.NewFinding(view.Workload.Origin, model.CodeRejected,
			fmt.Sprintf("the proxy of pod %s cannot be configured over its REST API: %v", p.target, err)))
	}
	r.report(p.target.String(), slices.Concat(plan.findings, findings))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state.Listeners, p.state.Clusters = len(plan.objects[restListeners]), len(plan.objects[restClusters])
	p.state.Synced, p.state.Error = p.state.Synced || len(findings) == 0, ""
	if len(findings) > 0 {
		p.state.Error = findings[0].Text
	}
	return len(findings) == 0
}
