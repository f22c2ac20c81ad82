package controlplane

import (
	"context"
	"sync"
)

// runLeader runs the work of the leader: writes of statuses and finalizers.
func (cp *controlPlane) runLeader(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { cp.writer.Run(ctx) })
	both.Go(func() { cp.finalizers.Run(ctx) })
	both.Wait()
}
