package model

// followService applies the routes of a service. They are selected by the name of the service, which is the host that
// they match, whatever host the request is forwarded with. Only inbound routes may target a service: the routes of
// services target destinations, so there are no loops.
func (v *View) followService(d Decision, s ServiceTarget) Decision {
	if d.Service != "" {
		d.step(v.Workload.Origin, "the routes of service %s cannot target service %s", d.Service, s.Service)
		d.Outcome = NotFound
		return d
	}
	for _, o := range v.Outbound {
		for _, b := range o.Bindings {
			if b.Service == s.Service && b.Protocol.Requests() && (s.Port == 0 || s.Port == o.Port) {
				d.step(b.Origin, "the routes of service %s on port %d apply", b.Service, o.Port)
				if d.Request.Port = o.Port; !d.canonical() {
					return d
				}
				d.Service = b.Service
				return v.route(d, s.Service, b.Routes, b.Protocol)
			}
		}
	}
	d.step(v.Workload.Origin, "service %s has no port %d", s.Service, s.Port)
	d.Outcome = NotFound
	return d
}

// followHost applies the routes of the service with the host name of the request, on the port of a gateway's listener.
func (v *View) followHost(d Decision, l Listener) Decision {
	if out := v.port(l.Port); out != nil {
		if binding, _ := out.find(d.Request); binding != nil {
			d.step(binding.Origin, "the host name %s is that of service %s", d.Request.Host, binding.Service)
			return v.followBinding(d, *binding)
		}
	}
	d.step(l.Origin, "no service on port %d has the host name %q", l.Port, d.Request.Host)
	d.Outcome = NotFound
	return d
}
