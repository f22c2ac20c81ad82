package l7mp

import (
	"encoding/json"
	"fmt"

	"anymesh.dev/anymesh/model"
)

// jsonSocket reads the protocol below JSONSocket, and the header.
func (p *parser) jsonSocket(object map[string]json.RawMessage, path string) (transport, bool) {
	for _, f := range []string{"transport", "transport_spec"} {
		raw := object[f]
		if raw == nil {
			continue
		}
		out, ok := p.transport(raw, path+"."+f)
		if !ok {
			return transport{}, false
		}
		if out.overJSONSocket || out.protocol == model.HTTP || out.protocol.Local() {
			p.report(path+"."+f, model.CodeInvalidField, "must be WebSocket, UDP, TCP or UnixDomainSocket")
			return transport{}, false
		}
		out.overJSONSocket = true
		out.header, ok = p.header(object["header"], path+".header")
		return out, ok
	}
	p.report(path, model.CodeInvalidField, "transport is missing")
	return transport{}, false
}

// headerField is a value of the header in JSON: exactly one of path and set.
type headerField struct {
	Path *struct {
		From string `json:"from"`
		To   string `json:"to"`
	} `json:"path"`
	Set *struct {
		Key   string `json:"key"`
		Value any    `json:"value"`
	} `json:"set"`
}

// header reads what a cluster sends before the data.
func (p *parser) header(raw json.RawMessage, path string) ([]model.HeaderField, bool) {
	var fields []headerField
	if raw == nil || !p.decode(raw, &fields, path) {
		return nil, raw == nil
	}
	var out []model.HeaderField
	for i, f := range fields {
		switch at := fmt.Sprintf("%s[%d]", path, i); {
		case (f.Path == nil) == (f.Set == nil):
			p.report(at, model.CodeInvalidField, "must have one of path and set")
			return nil, false
		case f.Set != nil:
			out = append(out, model.HeaderField{Value: f.Set.Value, To: f.Set.Key})
		case f.Path.From == "":
			p.report(at+".path.from", model.CodeInvalidField, "is missing")
			return nil, false
		default:
			out = append(out, model.HeaderField{From: f.Path.From, To: f.Path.To})
		}
	}
	return out, true
}

// local reads the parameters of a protocol that the proxy serves itself.
func (p *parser) local(protocol model.Protocol, object map[string]json.RawMessage, path string) (transport, bool) {
	out := transport{protocol: protocol}
	out.local.Query, _ = text(object["query"])
	out.local.LogFile, _ = text(object["log_file"])
	out.local.LogPrefix, _ = text(object["log_prefix"])
	if protocol == model.Sync && out.local.Query == "" {
		p.report(path+".query", model.CodeInvalidField, "must be a pointer into the metadata")
		return transport{}, false
	}
	return out, true
}
