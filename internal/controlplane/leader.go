package controlplane

import (
	"context"
	"sync"
)

// runLeader runs the work of the leader: status writes and removal of finalizers.
func (cp *controlPlane) runLeader(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { cp.writer.Run(ctx) })
	both.Go(func() { cp.finalizerRemover.Run(ctx) })
	both.Wait()
}
