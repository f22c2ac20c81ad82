package controlplane

import (
	"context"
	"sync"
)

// runLeader runs the work of the leader: writes of statuses, finalizers and copies of settings, the
// objects of Routes, and the configuration of proxies without an agent.
func (cp *controlPlane) runLeader(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { cp.writer.Run(ctx) })
	all.Go(func() { cp.finalizers.Run(ctx) })
	all.Go(func() { cp.keeper.Run(ctx) })
	for _, d := range cp.drivers {
		if d.leads != nil {
			all.Go(func() { d.leads(ctx) })
		}
	}
	if cp.routes != nil {
		all.Go(func() {
			if err := cp.routes.Run(ctx); err != nil {
				cp.Log.Error("the controller of Routes ended", "error", err)
			}
		})
	}
	all.Wait()
}
