package sidecar

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"anymesh.dev/anymesh/model"
)

var (
	driversMutex sync.RWMutex
	drivers      = make(map[string]Driver)
	// defaultClass is the driver of pods without a sidecarClass.
	defaultClass string
)

// errNotInstalled is returned if no driver is installed.
var errNotInstalled = errors.New("sidecar: unknown driver (forgot to init?)")

// Register registers a sidecar driver. It panics if the driver is nil or the name is already registered: both are
// bugs of the importing program.
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

// RendererOf returns the renderer of a registered driver: the driver itself, or one that renders nothing and has the
// Capabilities of the driver. It reports false for an unknown driver.
func RendererOf(name string) (Renderer, bool) {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	driver, known := drivers[name]
	if !known {
		return nil, false
	}
	if renderer, is := driver.(Renderer); is {
		return renderer, true
	}
	capable, _ := driver.(Capabilities)
	return nothingRendered{capable}, true
}

// Supporting returns the first of some drivers that is registered and supports all features; empty for none.
func Supporting(names []string, features []model.Feature) string {
	i := slices.IndexFunc(names, func(name string) bool {
		r, known := RendererOf(name)
		if !known {
			return false
		}
		supports := r.Supports()
		return !slices.ContainsFunc(features, func(f model.Feature) bool { return !supports[f] })
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// nothingRendered is the renderer of a driver that is none. The driver supports no feature if it has no Capabilities.
type nothingRendered struct{ of Capabilities }

func (r nothingRendered) Supports() map[model.Feature]bool {
	if r.of == nil {
		return nil
	}
	return r.of.Supports()
}

func (nothingRendered) Render(*model.View) ([]Resource, []model.Finding) { return nil, nil }

func (nothingRendered) RenderDestination(model.ResolvedDestination) []Resource { return nil }

// InstallDriver sets the default driver: the driver of contexts without a class. The error for an unknown name lists
// the known names.
func InstallDriver(driverName string) error {
	driversMutex.Lock()
	defer driversMutex.Unlock()
	if err := unknown(driverName); err != nil {
		return err
	}
	defaultClass = driverName
	return nil
}

// InitDriver is an alias of InstallDriver.
func InitDriver(driverName string) error { return InstallDriver(driverName) }

// Patch calls Patch of the driver in the InjectorContext of ctx, or of the default driver.
func Patch(ctx context.Context) error {
	class := ""
	if c, ok := ctx.Value(&InjectorCtxKey).(*InjectorContext); ok {
		class = c.SidecarClass
	}
	driver, err := driverOf(class)
	if err != nil {
		return err
	}
	return driver.Patch(ctx)
}

// Start calls Start of the driver in the ControllerContext of ctx, or of the default driver.
func Start(ctx context.Context) (Probes, error) {
	class := ""
	if c, ok := ctx.Value(&ControllerCtxKey).(*ControllerContext); ok {
		class = c.SidecarClass
	}
	driver, err := driverOf(class)
	if err != nil {
		return nil, err
	}
	return driver.Start(ctx)
}

// driverOf returns the driver of a class; an empty class is the default driver.
func driverOf(class string) (Driver, error) {
	driversMutex.RLock()
	defer driversMutex.RUnlock()
	if class == "" {
		class = defaultClass
	}
	if class == "" {
		return nil, errNotInstalled
	}
	return drivers[class], unknown(class)
}

// unknown returns an error if no driver has the name. The caller holds the lock.
func unknown(name string) error {
	if _, ok := drivers[name]; ok {
		return nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(drivers)), ", ")
	return fmt.Errorf("sidecar: unknown driver %q (forgotten import?); known drivers: %s", name, known)
}
