package gateway

import (
	"cmp"
	"fmt"
	"slices"

	"anymesh.dev/anymesh/model"
)

// podPort is a port of a pod behind a Service.
type podPort struct {
	pod  model.Instance
	port uint16
}

func (a podPort) compare(b podPort) int {
	return cmp.Or(cmp.Compare(a.pod.Namespace, b.pod.Namespace), cmp.Compare(a.pod.Name, b.pod.Name),
		cmp.Compare(a.pod.UID, b.pod.UID), cmp.Compare(a.port, b.port))
}

// identity is the SPIFFE ID of the gateway.
func (s Settings) identity() string {
	return model.Identity{TrustDomain: s.TrustDomain, Namespace: s.Namespace, Account: Name}.String()
}

// clientTLS returns how the gateway connects to the pods of a group. If a listener of them requires TLS, the gateway
// uses its certificate and requires those of the listeners, which the authority of the mesh has to issue. Otherwise, it
// uses no TLS. A fault says why it cannot connect.
func (r *backendRule) clientTLS(group string) (*model.ClientTLS, string) {
	var required, others []model.Listener
	without := "" // a pod that takes no TLS
	for _, p := range r.pods.Read(group) {
		l, found := r.listener(p)
		switch {
		case !found || l.TLS == nil:
			without = cmp.Or(without, p.pod.Namespace+"/"+p.pod.Name)
		case l.TLS.Mode == model.TLSStrict:
			required = append(required, l)
		default:
			others = append(others, l)
		}
	}
	if len(required) == 0 {
		return nil, ""
	}
	if without != "" {
		return nil, fmt.Sprintf("%s requires TLS, and pod %s of the same Service does not serve it; let all pods of the "+
			"Service serve TLS, or none require it", required[0].Origin, without)
	}
	trust := model.Secret{Provider: model.ProviderMesh, Name: "spiffe://" + r.TrustDomain}
	out := &model.ClientTLS{
		Certificate: &model.Certificate{Secret: model.Secret{Provider: model.ProviderMesh, Name: r.identity()}},
		Validation:  &model.Validation{TrustSecret: trust},
	}
	for _, l := range append(required, others...) {
		// Only a secret of the mesh has a name that its certificate is known to have.
		if c := l.TLS.Certificate; c != nil && c.Secret.Provider == model.ProviderMesh {
			out.Validation.Names = append(out.Validation.Names, c.Secret.Name)
		}
	}
	slices.Sort(out.Validation.Names)
	out.Validation.Names = slices.Compact(out.Validation.Names)
	for _, l := range append(required, others...) {
		if ok, why := r.connect(out, l.TLS); !ok {
			return nil, fmt.Sprintf("%s requires TLS, and the gateway cannot connect: %s; let the authority of the mesh issue "+
				"the certificate of the listener, and let the listener accept the clients of that authority or connections "+
				"without TLS", l.Origin, why)
		}
	}
	return out, ""
}

// connect reports whether the gateway can connect to a listener, and why not.
func (r *backendRule) connect(client *model.ClientTLS, server *model.ServerTLS) (bool, string) {
	if c := server.Certificate; c == nil || c.Secret.Provider != model.ProviderMesh {
		return false, "the authority of the mesh does not issue its certificate"
	}
	return model.Connect(client, server, func(c model.Certificate) model.Handshake { return c.Secret.Content() })
}

// listener returns the listener of a workload of a mesh on a port of a pod.
func (r *backendRule) listener(p podPort) (model.Listener, bool) {
	for _, e := range r.endpoints.Read(p.pod) {
		w, _ := r.workloads.ReadFirst(e.Workload)
		i := slices.IndexFunc(w.Listeners, func(l model.Listener) bool { return l.Port == p.port })
		if i >= 0 {
			return w.Listeners[i], true
		}
	}
	return model.Listener{}, false
}
