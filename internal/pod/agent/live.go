package agent

import (
	"context"
	"fmt"
	"net/http"
)

// serveLive responds with status 200, unless the proxy responded before and does not respond any more. A proxy that is
// not ready is live. A proxy that waits for its first configuration does not respond yet, so that the result does not
// depend on the control plane.
func (a *agent) serveLive(w http.ResponseWriter, r *http.Request) {
	if a.ReadyURL != "" && a.responded.Load() && a.phase.get() == running {
		if err := a.responds(r.Context()); err != nil {
			a.Logger.Warn("the proxy does not respond; kubelet restarts it", "error", err)
			http.Error(w, "the proxy does not respond: "+err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "live")
}

// responds returns nil if the proxy sends any response.
func (a *agent) responds(ctx context.Context) error {
	response, err := a.get(ctx, a.ReadyURL)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
