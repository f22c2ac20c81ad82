package dialect

// WithoutAgent is a dialect with pods whose proxy has no agent: the driver connects to it, see
// sidecar.Catalog.WithoutAgent.
type WithoutAgent interface {
	Dialect
	// DriverWithoutAgent returns the sidecarClass of these pods; empty if there are none.
	DriverWithoutAgent() string
}
