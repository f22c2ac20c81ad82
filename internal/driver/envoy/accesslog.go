package envoy

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filelogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/file/v3"
	streamlogv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"anymesh.dev/anymesh/model"
	"anymesh.dev/anymesh/sidecar"
)

// accessLogs renders an access log; nil for none. Envoy rejects a listener if it cannot open the file, so that every
// file has the same name, which the agent links to the file of the workload. The standard streams are not opened,
// because the user of the sidecar may not have the permission.
func accessLogs(l *model.AccessLog) []*accesslogv3.AccessLog {
	if l == nil {
		return nil
	}
	format := logFormat(l)
	var name string
	var config proto.Message
	switch l.Path {
	case model.LogOutput:
		log := &streamlogv3.StdoutAccessLog{}
		if format != nil {
			log.AccessLogFormat = &streamlogv3.StdoutAccessLog_LogFormat{LogFormat: format}
		}
		name, config = "envoy.access_loggers.stdout", log
	case model.LogErrors:
		log := &streamlogv3.StderrAccessLog{}
		if format != nil {
			log.AccessLogFormat = &streamlogv3.StderrAccessLog_LogFormat{LogFormat: format}
		}
		name, config = "envoy.access_loggers.stderr", log
	default:
		log := &filelogv3.FileAccessLog{Path: sidecar.AccessLogFile}
		if format != nil {
			log.AccessLogFormat = &filelogv3.FileAccessLog_LogFormat{LogFormat: format}
		}
		name, config = "envoy.access_loggers.file", log
	}
	return []*accesslogv3.AccessLog{{
		Name: name, ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: typedConfig(config)},
	}}
}

// logFormat renders the format of an access log; nil for that of Envoy.
func logFormat(l *model.AccessLog) *corev3.SubstitutionFormatString {
	switch {
	case len(l.Fields) > 0:
		fields := map[string]*structpb.Value{}
		for _, f := range l.Fields {
			fields[f.Key] = structpb.NewStringValue(f.Value)
		}
		return &corev3.SubstitutionFormatString{
			Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: &structpb.Struct{Fields: fields}},
		}
	case l.Text != "":
		return &corev3.SubstitutionFormatString{Format: &corev3.SubstitutionFormatString_TextFormatSource{
			TextFormatSource: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: l.Text}},
		}}
	}
	return nil
}
