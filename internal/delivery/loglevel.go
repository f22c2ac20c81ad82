package delivery

import (
	"google.golang.org/protobuf/types/known/wrapperspb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// logLevel renders the log level of the sidecars of a workload, if there is one. Their agents subscribe to it.
func logLevel(level string) []sidecar.Resource {
	if level == "" {
		return nil
	}
	return appendMessage(nil, sidecar.SettingType, sidecar.LogLevelSetting, wrapperspb.String(level), model.Origin{})
}
