package sidecar

// RequestCounter is an optional interface of drivers whose proxies count the requests of the application to each
// service in a metric, which the agent serves. The metric has the label anymesh_service with the host name of the
// service, and a label with the first digit of the status.
type RequestCounter interface {
	RequestCounter() (metric, statusLabel string)
}

// RequestCounterOf returns the counter of a registered driver. It reports false for a driver without one.
func RequestCounterOf(name string) (RequestCounter, bool) {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	counter, ok := drivers[name].(RequestCounter)
	return counter, ok
}
