package osm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	config "anymesh.dev/anymesh/api/osm/config/v1alpha2"
	"anymesh.dev/anymesh/internal/spelling"
	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// namedImage is the image of the driver of its name, without the suffix.
const namedImage = "envoyImage"

var logLevels = []string{"trace", "debug", "info", "warning", "warn", "error", "critical", "off"}

type (
	resources = corev1.ResourceRequirements
	duration  = time.Duration
)

// meshSpec is what a MeshConfig sets.
type meshSpec struct {
	// permissive lets every member call every member, egress passes traffic to destinations that are not members.
	permissive, egress bool
	// rootCertificates enables MeshRootCertificate.
	rootCertificates bool
	// accessControl enables AccessControl.
	accessControl bool

	// The others are for new pods; empty means that the setting of the program applies.
	privilegedInit               bool
	logLevel, class              string
	image, namedImage, initImage string
	drivers                      []sidecar.DriverSettings
	resources                    resources
	inboundPorts, outboundPorts  []int
	outboundExclusions           []string
	outboundInclusions           []string
	localProxyMode               string
	tracing                      *sidecar.Tracing
	certificates                 duration // lifetime
}

// readMeshConfig returns what a MeshConfig sets, and findings about settings that have no effect. last is the copy with
// the last valid settings; nil if there is none.
func readMeshConfig(o, last *config.MeshConfig, at model.Origin) (meshSpec, []model.Finding) {
	var out meshSpec
	var findings []model.Finding
	known := map[string]bool{}
	for _, k := range MeshConfigKeys() {
		known[k.Path] = true
		area, name := k.parts()
		if value, set := o.Spec[area][name]; set {
			by := settingsOf(last)[area][name]
			if f := k.read(&out, value.Raw, by.Raw, at.At("spec."+k.Path)); f != nil {
				findings = append(findings, *f)
			}
		}
	}
	for area, settings := range o.Spec {
		for name := range settings {
			if path := area + "." + name; !known[path] {
				findings = append(findings, unknownSetting(path, at))
			}
		}
	}
	return out, model.SortFindings(findings)
}

func unknownSetting(path string, at model.Origin) model.Finding {
	var names []string
	for _, k := range MeshConfigKeys() {
		names = append(names, k.Path)
	}
	text := "is not a setting of Open Service Mesh, and has no effect"
	if meant, found := spelling.Meant(path, names); found {
		text += "; did you mean spec." + meant + "?"
	}
	return model.NewFinding(at.At("spec."+path), model.CodeFieldNotImplemented, text)
}

func compact(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

// reads returns a function that reads a value strictly. An invalid value changes nothing.
func reads[T any](field func(*meshSpec) *T) func(*meshSpec, json.RawMessage) error {
	return func(m *meshSpec, value json.RawMessage) error {
		var out T
		decoder := json.NewDecoder(bytes.NewReader(value))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&out); err != nil {
			return fmt.Errorf("%s is invalid: %w", compact(value), err)
		}
		*field(m) = out
		return nil
	}
}

// readsOne reads one of several texts; an empty text is the default.
func readsOne(field func(*meshSpec) *string, texts ...string) func(*meshSpec, json.RawMessage) error {
	return func(m *meshSpec, value json.RawMessage) error {
		var text string
		if json.Unmarshal(value, &text) != nil || text != "" && !slices.Contains(texts, text) {
			return fmt.Errorf("%s is not one of %s", compact(value), strings.Join(texts, ", "))
		}
		*field(m) = text
		return nil
	}
}

// readsPorts reads a list of ports. A value that is not one is an error, and the others have effect.
func readsPorts(field func(*meshSpec) *[]int) func(*meshSpec, json.RawMessage) error {
	return func(m *meshSpec, value json.RawMessage) error {
		var all []json.Number
		if err := json.Unmarshal(value, &all); err != nil {
			return fmt.Errorf("%s is not a list of ports", compact(value))
		}
		var out []int
		var wrong error
		for _, n := range all {
			if err := addPorts(&out)(n.String()); err != nil {
				wrong = err
			}
		}
		*field(m) = out
		return wrong
	}
}

// readsRanges reads a list of CIDRs. A value that is not one is an error, and the others have effect.
func readsRanges(field func(*meshSpec) *[]string) func(*meshSpec, json.RawMessage) error {
	return func(m *meshSpec, value json.RawMessage) error {
		var all []string
		if err := json.Unmarshal(value, &all); err != nil {
			return fmt.Errorf("%s is not a list of CIDRs", compact(value))
		}
		var out []string
		var wrong error
		for _, text := range all {
			if err := addRanges(&out)(text); err != nil {
				wrong = err
			}
		}
		*field(m) = out
		return wrong
	}
}

// minCertificates is the shortest lifetime of a certificate.
const minCertificates = time.Minute

func readsDuration(field func(*meshSpec) *duration) func(*meshSpec, json.RawMessage) error {
	return func(m *meshSpec, value json.RawMessage) error {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return fmt.Errorf("%s is not a duration with a unit, such as 24h", compact(value))
		}
		if text == "" {
			return nil
		}
		d, err := time.ParseDuration(text)
		if err != nil || d < minCertificates {
			return fmt.Errorf("%q is not a duration with a unit, such as 24h, of at least %s", text, minCertificates)
		}
		*field(m) = d
		return nil
	}
}

// readsDrivers reads the entries of drivers.
func readsDrivers(m *meshSpec, value json.RawMessage) error {
	if err := reads(func(m *meshSpec) *[]sidecar.DriverSettings { return &m.drivers })(m, value); err != nil {
		return err
	}
	for _, d := range m.drivers {
		if d.SidecarDisabledMTLS {
			return fmt.Errorf("sidecarDisabledMTLS of %s has no effect: mutual TLS between members is always on", d.SidecarName)
		}
	}
	return nil
}

// zipkinPath is the path to which sidecars send spans.
const zipkinPath = "/api/v2/spans"

// readsTracing reads the receiver of spans.
func readsTracing(m *meshSpec, value json.RawMessage) error {
	var o struct {
		Enable          bool             `json:"enable"`
		Address         string           `json:"address"`
		Port            int              `json:"port"`
		Endpoint        string           `json:"endpoint"`
		SampledFraction *json.RawMessage `json:"sampledFraction"`
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return fmt.Errorf("is invalid: %w", err)
	}
	if !o.Enable {
		return nil
	}
	out := &sidecar.Tracing{Protocol: sidecar.TracingZipkin, Address: o.Address, Port: 9411, JSON: true}
	if o.Address == "" {
		return fmt.Errorf("address is required")
	}
	if o.Port != 0 {
		if o.Port < 1 || o.Port > 65535 {
			return fmt.Errorf("port %d is not from 1 to 65535", o.Port)
		}
		out.Port = uint16(o.Port)
	}
	if o.SampledFraction != nil {
		var share float64
		text := strings.Trim(string(*o.SampledFraction), `"`)
		if err := json.Unmarshal([]byte(text), &share); err != nil || share < 0 || share > 1 {
			return fmt.Errorf("sampledFraction %s is not a number from 0 to 1", text)
		}
		out.SamplingRate = &share
	}
	m.tracing = out
	if o.Endpoint != "" && o.Endpoint != zipkinPath {
		return fmt.Errorf("endpoint %s has no effect: spans are sent to %s", o.Endpoint, zipkinPath)
	}
	return nil
}
