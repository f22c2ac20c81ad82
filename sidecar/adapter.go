package sidecar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

var (
	driversMutex sync.RWMutex
	drivers      = make(map[string]Driver)
	engineDriver Driver
)

// errNotInstalled says that a control plane used drivers before it chose one.
var errNotInstalled = errors.New("sidecar: unknown driver (forgot to init?)")

// Register makes a sidecar driver available under a name. It panics if the driver is nil or the name is taken: both are
// mistakes of the program that imports the drivers.
func Register(name string, driver Driver) {
	driversMutex.Lock()
	defer driversMutex.Unlock()
	if driver == nil {
		panic("sidecar: Register driver is nil")
	}
	if _, dup := drivers[name]; dup {
		panic("sidecar: Register called twice for driver " + name)
	}
	drivers[name] = driver
}

// Drivers lists the names of the registered drivers in order.
func Drivers() []string {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	return slices.Sorted(maps.Keys(drivers))
}

// RendererOf gives the renderer of a registered driver. It reports false for a name that is not known, and for a driver that does
// not render.
func RendererOf(name string) (Renderer, bool) {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	renderer, ok := drivers[name].(Renderer)
	return renderer, ok
}

// InstallDriver chooses the driver that Patch and Start use. An unknown name is an error that lists the known ones.
func InstallDriver(driverName string) error {
	driversMutex.Lock()
	defer driversMutex.Unlock()
	registered, ok := drivers[driverName]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(drivers)), ", ")
		return fmt.Errorf("sidecar: unknown driver %q (forgotten import?); known drivers: %s", driverName, known)
	}
	engineDriver = registered
	return nil
}

// InitDriver is InstallDriver by its other name.
func InitDriver(driverName string) error { return InstallDriver(driverName) }

// Patch calls the installed driver's Patch.
func Patch(ctx context.Context) error {
	driver, err := installed()
	if err != nil {
		return err
	}
	return driver.Patch(ctx)
}

// Start calls the installed driver's Start.
func Start(ctx context.Context) (HealthProbes, error) {
	driver, err := installed()
	if err != nil {
		return HealthProbes{}, err
	}
	return driver.Start(ctx)
}

func installed() (Driver, error) {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	if engineDriver == nil {
		return nil, errNotInstalled
	}
	return engineDriver, nil
}
