package relay

import (
	"sync"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/sidecar"
)

// logLevel is the last log level of the control plane, with its version; empty before.
type logLevel struct {
	mutex          sync.Mutex
	level, version string
}

func (l *logLevel) get() (level, version string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.level, l.version
}

func (l *logLevel) set(level, version string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.level, l.version = level, version
}

// askForLogLevel subscribes to the log level, and sets the last one: Envoy may have been started again.
func (s *session) askForLogLevel() error {
	level, version := s.logLevel.get()
	r := &discoveryv3.DeltaDiscoveryRequest{
		TypeUrl: sidecar.SettingType, ResourceNamesSubscribe: []string{sidecar.LogLevelSetting},
	}
	if level != "" {
		s.LogLevel(level)
		r.InitialResourceVersions = map[string]string{sidecar.LogLevelSetting: version}
	}
	return s.encodeUp(r)
}

// settingResponse sets the log level. Without one, the last one stays.
func (s *session) settingResponse(m []byte) error {
	var r discoveryv3.DeltaDiscoveryResponse
	if err := proto.Unmarshal(m, &r); err != nil {
		return err
	}
	for _, resource := range r.Resources {
		var level wrapperspb.StringValue
		if err := proto.Unmarshal(resource.GetResource().GetValue(), &level); err != nil {
			return err
		}
		if resource.Name == sidecar.LogLevelSetting && s.settings {
			s.logLevel.set(level.Value, resource.Version)
			s.LogLevel(level.Value)
		}
	}
	return s.encodeUp(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce})
}
