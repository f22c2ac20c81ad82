package repo

// drain makes the scripts end connections of clients after their next response.
func (c *codebase) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	c.update()
}
