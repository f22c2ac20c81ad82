package sidecar

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"anymesh.dev/anymesh/model"
)

func twoDrivers() *MeshConfig {
	return &MeshConfig{Sidecar: Settings{SidecarClass: "one", LogLevel: "debug", SidecarDrivers: []DriverSettings{
		{SidecarName: "one", SidecarImage: "one:1", ProxyServerPort: 6060},
		{SidecarName: "two", SidecarImage: "two:1"},
		{SidecarName: "One", SidecarImage: "again:1"},
	}}}
}

func TestMeshConfigOf(t *testing.T) {
	type settings struct {
		class, image, initImage string
		port                    uint32
	}
	for name, c := range map[string]struct {
		change func(*MeshConfig)
		class  string
		want   settings
	}{
		"the default driver has those of its entry":  {nil, "", settings{"one", "one:1", "one:1", 6060}},
		"names are compared without case":            {nil, "ONE", settings{"one", "one:1", "one:1", 6060}},
		"another driver has its own":                 {nil, "two", settings{"two", "two:1", "two:1", DefaultProxyServerPort}},
		"a driver without an entry has none":         {nil, "three", settings{"three", "", "", DefaultProxyServerPort}},
		"the mesh's image is the default driver's":   {meshImage, "", settings{"one", "mesh:1", "mesh:1", 6060}},
		"the mesh's image is not another driver's":   {meshImage, "two", settings{"two", "two:1", "two:1", DefaultProxyServerPort}},
		"the mesh's init image is everybody's":       {initImage, "two", settings{"two", "two:1", "init:1", DefaultProxyServerPort}},
		"but for a driver with one of its own":       {ownInitImage, "two", settings{"two", "two:1", "own:1", DefaultProxyServerPort}},
		"the mesh's init image wins for the default": {ownInitImage, "", settings{"one", "one:1", "init:1", 6060}},
	} {
		t.Run(name, func(t *testing.T) {
			mesh := twoDrivers()
			if c.change != nil {
				c.change(mesh)
			}
			of := mesh.Of(c.class)
			got := settings{
				of.GetSidecarClass(), of.GetSidecarImage(), of.GetInitContainerImage(), of.GetProxyServerPort(),
			}
			if got != c.want || of.GetSidecarLogLevel() != "debug" {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
			if mesh.GetSidecarClass() != "one" {
				t.Error("Of modified the settings of the mesh")
			}
		})
	}
}

func meshImage(c *MeshConfig) { c.Sidecar.SidecarImage = "mesh:1" }

func initImage(c *MeshConfig) { c.Sidecar.InitContainerImage = "init:1" }

func ownInitImage(c *MeshConfig) {
	initImage(c)
	for i := range c.Sidecar.SidecarDrivers {
		c.Sidecar.SidecarDrivers[i].InitContainerImage = "own:1"
	}
}

func TestMeshConfigClasses(t *testing.T) {
	if got := twoDrivers().Classes(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got classes %q", got)
	}
}

// The variables of the program are the last resort, as in Open Service Mesh.
func TestDefaultsOfTheEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		DefaultClassVariable: "two", DefaultImageVariable: "env:1", DefaultWindowsImageVariable: "env:win",
		DefaultInitImageVariable: "env:init",
	} {
		t.Setenv(name, value)
	}
	c := &MeshConfig{Sidecar: Settings{SidecarDrivers: []DriverSettings{{SidecarName: "two"}}}}
	got := []string{c.GetSidecarClass(), c.GetSidecarImage(), c.GetSidecarWindowsImage(), c.GetInitContainerImage()}
	if want := []string{"two", "env:1", "env:win", "env:init"}; !slices.Equal(got, want) {
		t.Errorf("without settings: got %q, want %q", got, want)
	}
	mesh := twoDrivers()
	mesh.Sidecar.SidecarClass = ""
	if got := mesh.GetSidecarImage(); got != "two:1" {
		t.Errorf("the driver of the environment has an entry: got image %q", got)
	}
}

// The preset of the released chart, whose entries have another name for the image of Windows than the API has.
func TestPresetOfTheReleasedChart(t *testing.T) {
	const preset = `{"sidecar": {
		"enablePrivilegedInitContainer": true, "logLevel": "error", "maxDataPlaneConnections": 7,
		"configResyncInterval": "90s", "sidecarClass": "pipy", "SidecarImageWindowsImage": "mesh:win", "sidecarDrivers": [
			{"sidecarName": "pipy", "sidecarImage": "flomesh/pipy-nightly:latest", "proxyServerPort": 6060},
			{"sidecarName": "envoy", "sidecarImage": "envoyproxy/envoy:v1.19.3", "proxyServerPort": 15128,
				"sidecarWindowsImage": "envoyproxy/envoy-windows:latest", "sidecarDisabledMTLS": true}]}}`
	var c MeshConfig
	if err := json.Unmarshal([]byte(preset), &c); err != nil {
		t.Fatal(err)
	}
	want := Settings{
		EnablePrivilegedInitContainer: true, LogLevel: "error", MaxDataPlaneConnections: 7, ConfigResyncInterval: "90s",
		SidecarClass: "pipy", SidecarWindowsImage: "mesh:win", SidecarDrivers: []DriverSettings{
			{SidecarName: "pipy", SidecarImage: "flomesh/pipy-nightly:latest", ProxyServerPort: 6060},
			{
				SidecarName: "envoy", SidecarImage: "envoyproxy/envoy:v1.19.3", ProxyServerPort: 15128,
				SidecarWindowsImage: "envoyproxy/envoy-windows:latest", SidecarDisabledMTLS: true,
			},
		},
	}
	if !reflect.DeepEqual(c.Sidecar, want) {
		t.Errorf("got %+v\nwant %+v", c.Sidecar, want)
	}
	if got := c.Of("envoy").GetSidecarWindowsImage(); got != "envoyproxy/envoy-windows:latest" {
		t.Errorf("got image %q for Windows", got)
	}
	if err := json.Unmarshal([]byte(`{"sidecar": {"sidecarDrivers": [{"sidecarNmae": "pipy"}]}}`), &c); err == nil {
		t.Error("a misspelled field of an entry is no error")
	}
}

// capable is a driver with features.
type capable struct {
	probe
	features map[model.Feature]bool
}

func (c *capable) Supports() map[model.Feature]bool { return c.features }

// The default of a mesh becomes the first of its classes with all of some features, with the image of this class.
func TestDefaultWithFeatures(t *testing.T) {
	reset(t)
	Register("one", &capable{features: map[model.Feature]bool{"a": true}})
	Register("two", &capable{features: map[model.Feature]bool{"a": true, "b": true}})
	for features, want := range map[model.Feature]string{"a": "one", "b": "two", "c": "one"} {
		mesh := twoDrivers()
		got := mesh.WithDefault(Supporting(mesh.Classes(), []model.Feature{"a", features}))
		if got.GetSidecarClass() != want || got.GetSidecarImage() != mesh.Of(want).GetSidecarImage() {
			t.Errorf("%s: got %s with image %s", features, got.GetSidecarClass(), got.GetSidecarImage())
		}
	}
}
