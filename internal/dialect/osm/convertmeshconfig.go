package osm

// keptSettings are the settings of a MeshConfig that v1alpha1 does not have, by area and name.
const keptSettings = "anymesh.dev/meshconfig-settings"

// newSettings are the settings that Open Service Mesh added in v1alpha2, by area. An object of v1alpha1 may have them
// as well, since osm-edge has some of them there.
var newSettings = map[string][]string{
	"sidecar":      {"tlsMinProtocolVersion", "tlsMaxProtocolVersion", "cipherSuites", "ecdhCurves", "localProxyMode"},
	"traffic":      {"outboundIPRangeInclusionList", "networkInterfaceExclusionList"},
	"featureFlags": {"enableMeshRootCertificate"},
}

func meshConfigUp(o object, from int) error {
	if from > 1 {
		return nil
	}
	areas, _ := kept(o, keptSettings).(object)
	s := spec(o)
	for area, all := range areas {
		settings, _ := all.(object)
		to, is := s[area].(object)
		if !is {
			to = object{}
			s[area] = to
		}
		for name, value := range settings {
			if _, written := to[name]; !written {
				to[name] = value
			}
		}
	}
	return nil
}

func meshConfigDown(o object, to int) {
	if to > 1 {
		return
	}
	areas := object{}
	s, _ := o["spec"].(object)
	for area, names := range newSettings {
		from, _ := s[area].(object)
		settings := object{}
		for _, name := range names {
			move(from, name, settings, name)
		}
		if len(settings) > 0 {
			areas[area] = settings
		}
	}
	if len(areas) > 0 {
		keep(o, keptSettings, areas)
	}
}
