package appmesh

import (
	"fmt"
	"path"
	"strings"

	api "anymesh.dev/anymesh/api/appmesh/v1beta2"
	"anymesh.dev/anymesh/model"
)

// standardStreams are names of the standard output and error of the sidecar.
var standardStreams = map[string]string{
	"/dev/stdout": model.LogOutput, "/dev/fd/1": model.LogOutput, "/proc/self/fd/1": model.LogOutput,
	"/proc/1/fd/1": model.LogOutput,
	"/dev/stderr":  model.LogErrors, "/dev/fd/2": model.LogErrors, "/proc/self/fd/2": model.LogErrors,
	"/proc/1/fd/2": model.LogErrors,
}

// accessLog returns the access log of a workload; nil if it has none or an invalid one. One invalid format would make
// sidecars reject all their listeners.
func (t *translator) accessLog(at model.Origin, l *api.Logging) *model.AccessLog {
	if l == nil || l.AccessLog == nil {
		return nil
	}
	at = at.At("spec.logging.accessLog")
	if l.AccessLog.File == nil {
		t.warn(at, model.CodeInvalidField, "has no effect: file is not set")
		return nil
	}
	file := *l.AccessLog.File
	at = at.At(at.Path + ".file")
	out := &model.AccessLog{Path: path.Clean("/" + file.Path), Origin: at}
	if stream, is := standardStreams[out.Path]; is {
		out.Path = stream
	}
	named := at.At(at.Path + ".path")
	switch {
	case file.Path == "" || strings.HasSuffix(file.Path, "/") || strings.ContainsRune(file.Path, 0):
		t.report(named, model.CodeInvalidField, "%q is not the name of a file", file.Path)
		return nil
	case out.Path == "/dev/null":
		return nil // users disable the log so
	case out.IsFile() && out.Folder() == "":
		t.warn(named, model.CodeInvalidField, "the folder %s of a sidecar can be no volume; if no volumeMounts annotation mounts "+
			"one, lines go to another file; use a folder below /var/log, or /dev/stdout", path.Dir(out.Path))
	}
	if !t.logFormat(at.At(at.Path+".format"), file.Format, out) {
		return nil
	}
	return out
}

// logFormat sets the format of an access log. It reports false for an invalid format.
func (t *translator) logFormat(at model.Origin, f *api.LoggingFormat, into *model.AccessLog) bool {
	switch {
	case f == nil:
		return true
	case f.Text != nil && len(f.JSON) > 0:
		t.report(at, model.CodeInvalidField, "json and text are set; only one is allowed")
		return false
	case f.Text != nil && *f.Text == "":
		t.report(at.At(at.Path+".text"), model.CodeInvalidField, "is empty")
		return false
	case f.Text == nil && len(f.JSON) == 0:
		t.warn(at, model.CodeInvalidField, "has no effect: neither json nor text is set")
		return true
	case f.Text != nil:
		into.Text = *f.Text
		return t.validFormat(at.At(at.Path+".text"), *f.Text)
	}
	valid, first := true, map[string]int{}
	for i, e := range f.JSON {
		item := fmt.Sprintf("%s.json[%d]", at.Path, i)
		if j, again := first[e.Key]; again {
			t.warn(at.At(item+".key"), model.CodeInvalidField, "has no effect: json[%d] has the same key", j)
			continue
		}
		first[e.Key] = i
		if e.Key == "" || e.Value == "" {
			t.report(at.At(item), model.CodeInvalidField, "key or value is empty")
			valid = false
			continue
		}
		valid = t.validFormat(at.At(item+".value"), e.Value) && valid
		into.Fields = append(into.Fields, model.LogField{Key: e.Key, Value: e.Value})
	}
	return valid
}

// validFormat reports a format that sidecars would reject.
func (t *translator) validFormat(at model.Origin, text string) bool {
	err := model.CheckLogFormat(text)
	if err != nil {
		t.report(at, model.CodeInvalidField, "%v; there is no access log", err)
	}
	return err == nil
}
