package gateway

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"

	api "anymesh.dev/anymesh/api/ingress"
	"anymesh.dev/anymesh/internal/incremental"
	"anymesh.dev/anymesh/internal/store"
	"anymesh.dev/anymesh/model"
)

// hostRule makes a service of each host name. A change of an object is a change of the services of its hosts only.
type hostRule struct {
	Settings
	paths    *incremental.Reader[string, Path]
	targets  *incremental.Reader[Backend, resolvedBackend]
	services store.Output[model.Key, model.Service]
	routers  store.Output[model.Key, model.Router]
	findings store.Output[model.ObjectRef, model.Finding]
}

// challengePath begins the paths of HTTP-01 challenges of ACME (RFC 8555, 8.3). They are never redirected to HTTPS: an
// authority asks for them while there is no certificate yet.
const challengePath = "/.well-known/acme-challenge/"

// redirectStatus is the status of redirects to HTTPS. Clients keep method and body.
const redirectStatus = 308

func (r *hostRule) evaluate(host string, paths []Path) {
	served := r.withoutConflicts(host, paths)
	canaries := r.canaries(host, paths, served)
	if len(served) == 0 {
		return
	}
	key, at := model.Key{Mesh: Mesh, Name: host}, served[0].Origin
	router := model.Router{Key: key, Ports: []model.RouterPort{{Port: HTTPPort, Protocol: model.HTTP}}, Origin: at}
	secured := false
	for i, p := range served {
		secured = secured || p.Port == HTTPSPort || p.Secret != ""
		route := r.route(p, r.report)
		if p.Secret != "" && !strings.HasPrefix(p.Match.Value, challengePath) {
			toHTTPS := route
			toHTTPS.Port = HTTPPort
			toHTTPS.Action = model.Action{
				Redirect: &model.Redirect{Scheme: "https", Host: host, StatusCode: redirectStatus},
			}
			router.Routes = append(router.Routes, toHTTPS)
			route.Port = HTTPSPort
		}
		if canary, is := canaries[i]; is {
			router.Routes = append(router.Routes, canary.routes(route)...)
		} else {
			router.Routes = append(router.Routes, route)
		}
	}
	router.Routes = append(router.Routes, r.last(host, served)...)
	if secured || host == AnyHost {
		router.Ports = append(router.Ports, model.RouterPort{Port: HTTPSPort, Protocol: model.HTTP})
	}
	r.routers.Emit(router)
	r.services.Emit(model.Service{Key: key, Router: host, External: true, Origin: at})
}

// withoutConflicts returns the paths that are not canaries: of those that serve the same requests, the first.
func (r *hostRule) withoutConflicts(host string, paths []Path) (out []Path) {
	same := 0 // the index of the first served path with the match
	for _, p := range paths {
		if p.Canary != nil {
			continue
		}
		if same < len(out) && out[same].Match != p.Match {
			same = len(out)
		}
		if i := slices.IndexFunc(out[same:], p.overlaps); i >= 0 {
			r.reportConflict(host, p, out[same+i])
			continue
		}
		out = append(out, p)
	}
	return out
}

func (r *hostRule) report(f model.Finding) { r.findings.Emit(f) }

// last returns the routes of AnyHost, after those of another host, unless that one serves all of its requests.
func (r *hostRule) last(host string, served []Path) (out []model.Route) {
	all := func(p Path) bool {
		return p.Port == 0 && p.Match == model.StringMatch{Kind: model.PathPrefix, Value: "/"}
	}
	if host == AnyHost || slices.ContainsFunc(served, all) {
		return nil
	}
	quiet := func(model.Finding) {} // AnyHost has the findings
	for _, p := range r.paths.Read(AnyHost) {
		if p.Canary == nil && !slices.ContainsFunc(served, func(s Path) bool { return s.Port == 0 && s.Match == p.Match }) {
			out = append(out, r.route(p, quiet))
		}
	}
	return slices.CompactFunc(out, func(a, b model.Route) bool { return a.Match.Path == b.Match.Path })
}

// route returns the route of a path.
func (r *hostRule) route(p Path, report func(model.Finding)) model.Route {
	out := model.Route{
		Name: p.Match.Value, Protocol: model.HTTP, Match: model.Match{Path: p.Match}, Origin: p.Origin,
		Port: p.Port, Clients: p.Clients, Action: model.Action{Rewrite: p.Rewrite, Timeouts: p.Timeouts, Redirect: p.Redirect},
	}
	switch {
	case p.Redirect != nil:
	case p.Port != 0:
		out.Action.Destinations = r.split(p, report)
	default:
		out.Action.Destinations = r.destinations(p, report)
	}
	return out
}

// overlaps reports whether two entries with the same path serve the same requests.
func (a Path) overlaps(b Path) bool { return a.Port == 0 || b.Port == 0 || a.Port == b.Port }

// split returns the destinations of a path with several backends.
func (r *hostRule) split(p Path, report func(model.Finding)) (out []model.WeightedDestination) {
	for _, b := range p.Split {
		to, _ := r.targets.ReadFirst(b.Backend)
		if to.fault != "" {
			report(model.NewFinding(p.Origin.At(b.Field), to.code, to.fault+"; it gets no requests"))
			continue
		}
		if to.destination != "" {
			out = append(out, model.WeightedDestination{
				Destination: to.destination, Weight: b.Weight, Origin: p.Origin.At(b.Field),
			})
		}
	}
	return out
}

// destinations returns the destination of a path: that of the fallback if the backend has no ready endpoint. Without
// one, requests get status 404.
func (r *hostRule) destinations(p Path, report func(model.Finding)) []model.WeightedDestination {
	to, _ := r.targets.ReadFirst(p.Backend)
	fault, code, at := to.fault, to.code, p.Origin
	if p.Fallback != (Backend{}) {
		fallback, _ := r.targets.ReadFirst(p.Fallback)
		if fallback.fault != "" {
			report(model.NewFinding(p.Origin.At("metadata.annotations"), fallback.code,
				api.DefaultBackend+": "+fallback.fault))
		} else if !to.ready {
			to, at = fallback, p.Origin.At("metadata.annotations")
		}
	}
	if fault != "" {
		result := "; requests get status 404"
		if to.destination != "" {
			result = "; the default backend gets the requests"
		}
		report(model.NewFinding(p.Origin.At(p.backendField()), code, fault+result))
	}
	if to.noSendTimeout {
		report(model.NewFinding(p.Origin.At("metadata.annotations"), model.CodeFieldNotImplemented,
			fmt.Sprintf("annotation %s has no effect on backends with HTTP/2", api.SendTimeout)))
	}
	if to.destination == "" {
		return nil
	}
	return []model.WeightedDestination{{Destination: to.destination, Weight: 1, Origin: at}}
}

func (r *hostRule) reportConflict(host string, p, served Path) {
	if p.Origin.Object() == served.Origin.Object() {
		r.findings.Emit(model.NewFinding(p.Origin, model.CodeInvalidField,
			fmt.Sprintf("%s has the same host and path; this one is not served", served.Origin.Path)))
		return
	}
	if p.Default && !served.Default {
		return // a rule takes precedence over a default backend
	}
	r.findings.Emit(model.NewFinding(p.Origin, model.CodeNameConflict, fmt.Sprintf(
		"%s also defines the path %s of host %s; %s and is served", served.Origin.Object(), p.Match.Value, host, precedence(served, p))))
}

// precedence says why the object of a path comes before that of another one.
func precedence(first, second Path) string {
	if first.Origin.Created < second.Origin.Created {
		return "that object is older"
	}
	return "that object has the same creation time, is first by kind, namespace and name,"
}

// gatewayRule makes the mesh and the gateway, when their namespace is known.
type gatewayRule struct {
	Settings
	secured   *incremental.Reader[allKey, model.HostCertificate]
	meshes    store.Output[string, model.Mesh]
	workloads store.Output[model.Key, model.Workload]
	findings  store.Output[model.ObjectRef, model.Finding]
}

func (r *gatewayRule) evaluate(id types.NamespacedName, _ []*corev1.Namespace) {
	if id.Name != r.Namespace {
		return
	}
	at := r.origin()
	r.meshes.Emit(model.Mesh{Name: Mesh, TrustDomain: r.TrustDomain, Egress: model.EgressDeny, Origin: at})
	w := model.Workload{
		Key: Key, Role: model.RoleGateway, BackendsAll: true, NodeID: Mesh + "/" + Name, Origin: at,
		TrustedHops: r.TrustedHops,
		Listeners:   []model.Listener{{Port: HTTPPort, Protocol: model.HTTP, Origin: at}},
	}
	if hosts := r.certificates(); len(hosts) > 0 {
		w.Listeners = append(w.Listeners, model.Listener{
			Port: HTTPSPort, Protocol: model.HTTP2, Origin: at,
			TLS: &model.ServerTLS{Mode: model.TLSStrict, Hosts: hosts, Origin: at},
		})
	}
	r.workloads.Emit(w)
}

// certificates returns the certificate of each host: that of the oldest object.
func (r *gatewayRule) certificates() []model.HostCertificate {
	var out []model.HostCertificate
	var last model.HostCertificate // several objects may name one listener
	for _, c := range r.secured.Read(allKey{}) {
		if n := len(out); n == 0 || out[n-1].Hosts[0] != c.Hosts[0] {
			out = append(out, c)
		} else if kept := out[n-1]; kept.Certificate.Secret != c.Certificate.Secret && !reflect.DeepEqual(c, last) {
			other, older, severity := kept.Origin.Object().String(), "that object is older, and ", model.Warning
			if kept.Origin.Object() == c.Origin.Object() {
				other, older, severity = kept.Origin.Path, "", model.Error
			}
			f := model.NewFinding(c.Origin, model.CodeNameConflict, fmt.Sprintf(
				"%s has another certificate for host %s; %sits certificate is served", other, c.Hosts[0], older))
			f.Severity = severity // the host is served
			r.findings.Emit(f)
		}
		last = c
	}
	return out
}
