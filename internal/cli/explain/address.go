package explain

import (
	"fmt"
	"net"

	"anymesh.dev/anymesh/internal/cli/lookup"
	"anymesh.dev/anymesh/internal/engine"
	"anymesh.dev/anymesh/model"
)

// resolve adds the address that the host of a request has in the mesh: that of the service with this name. It returns
// the step that says so, or none for a host without an address.
func resolve(s *engine.State, from lookup.Workload, r model.Request) (model.Request, []model.Step) {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	service, ok := s.ServiceOf(from.Mesh, host, from.Origin.Object.Namespace)
	if r.Address.IsValid() || !ok || len(service.Addresses) == 0 {
		return r, nil
	}
	r.Address = service.Addresses[0]
	text := fmt.Sprintf("%s has the address %s", host, r.Address)
	if service.Reserved {
		text = fmt.Sprintf("no Service is called %s: the agent answers the reserved address %s", host, r.Address)
	}
	return r, []model.Step{{Text: text, Origin: service.Origin}}
}
