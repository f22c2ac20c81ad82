package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"anymesh.dev/anymesh/internal/aggregate/version"
)

// minShared is the length from which a part of managedFields is shared.
const minShared = 64

// ingest builds the stored form of an object from the JSON that a member sends.
func ingest(k *kindInfo, c *cluster, texts *interner, raw []byte) (*object, error) {
	if len(raw) > math.MaxUint32/2 || !json.Valid(raw) || !utf8.Valid(raw) {
		return nil, errors.New("the object is not valid JSON in UTF-8")
	}
	b := builder{kind: k, texts: texts, raw: raw, object: &object{cluster: c}}
	top := map[string]span{}
	var rest []span
	err := members(raw, 0, func(key, value span) error {
		name := decodeKey(raw, key)
		if _, twice := top[name]; twice {
			return fmt.Errorf("the object has %q twice", name)
		}
		top[name] = value
		if name != "kind" && name != "apiVersion" && name != "metadata" {
			rest = append(rest, span{key.from - 1, value.to})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, ok := top["metadata"]; !ok {
		return nil, errors.New("the object has no metadata")
	}
	b.text = make([]byte, 0, len(raw)+64)
	if err := b.metadata(top["metadata"]); err != nil {
		return nil, err
	}
	for _, s := range rest {
		b.text = append(append(b.text, ','), s.of(raw)...)
	}
	b.object.rest = uint32(len(b.text))
	if b.managed.to > 0 {
		b.managedFields()
	}
	b.object.managed = uint32(len(b.text))
	if err := b.values(); err != nil {
		return nil, err
	}
	return b.finish()
}

// builder is the state of ingest.
type builder struct {
	kind            *kindInfo
	texts           *interner
	raw, text       []byte
	object          *object
	name, namespace string
	managed, labels span
	uid             string
}

func (b *builder) metadata(at span) error {
	annotation := fmt.Appendf(nil, "%q:%q", ClusterAnnotation, b.object.cluster.name)
	annotated := false
	seen := map[string]bool{}
	add := func(parts ...[]byte) {
		if len(b.text) > 0 {
			b.text = append(b.text, ',')
		}
		b.text = append(b.text, bytes.Join(parts, nil)...)
	}
	err := members(b.raw, at.from, func(key, value span) error {
		name := decodeKey(b.raw, key)
		if seen[name] {
			return fmt.Errorf("metadata has %q twice", name)
		}
		seen[name] = true
		text := value.of(b.raw)
		var err error
		switch name {
		case "resourceVersion":
			var rv string
			if rv, err = unquote(text); err == nil {
				b.object.version, err = version.Number(rv)
			}
			if err != nil {
				return fmt.Errorf("metadata.resourceVersion: %w", err)
			}
			return nil
		case "managedFields":
			b.managed = value
			return nil
		case "annotations":
			if string(text) == "null" {
				return nil
			}
			annotated = true
			text, err = b.annotations(value, annotation)
		case "labels":
			b.labels = value
		case "name":
			b.name, err = unquote(text)
		case "namespace":
			b.namespace, err = unquote(text)
		case "uid":
			b.uid, err = unquote(text)
		}
		if err != nil {
			return fmt.Errorf("metadata.%s: %w", name, err)
		}
		add(b.raw[key.from-1:value.from], text)
		return nil
	})
	if err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	if !annotated {
		add([]byte(`"annotations":{`), annotation, []byte("}"))
	}
	b.object.metadata = uint32(len(b.text))
	switch {
	case b.object.version == 0:
		return errors.New("metadata.resourceVersion is missing")
	case b.name == "":
		return errors.New("metadata.name is missing")
	case b.kind.Namespaced == (b.namespace == ""):
		return fmt.Errorf("metadata.namespace of %s is %q", b.name, b.namespace)
	}
	return nil
}

// annotations returns the annotations with that of the cluster, without one that a member has.
func (b *builder) annotations(at span, annotation []byte) ([]byte, error) {
	text := append([]byte("{"), annotation...)
	err := members(b.raw, at.from, func(key, value span) error {
		name := decodeKey(b.raw, key)
		if b.raw[value.from] != '"' {
			return fmt.Errorf("%.60q is not a string", name)
		}
		if name != ClusterAnnotation {
			text = append(append(text, ','), b.raw[key.from-1:value.to]...)
		}
		return nil
	})
	return append(text, '}'), err
}

// managedFields appends managedFields. Values of fieldsV1 are cut out and shared, without the IP addresses and uids in
// them, which differ between otherwise equal objects.
func (b *builder) managedFields() {
	at := b.managed.from
	_ = elements(b.raw, b.managed.from, func(entry span) error {
		fields, ok := find(b.raw, entry.from, []string{"fieldsV1"})
		if !ok {
			return nil
		}
		b.text = append(b.text, b.raw[at:fields.from]...)
		b.share(fields.of(b.raw))
		at = fields.to
		return nil
	})
	b.text = append(b.text, b.raw[at:b.managed.to]...)
}

func (b *builder) share(fields []byte) {
	for len(fields) > 0 {
		end, next := variable(fields)
		if end >= minShared {
			b.object.shared = append(b.object.shared, piece{uint32(len(b.text)), b.texts.blob(fields[:end])})
		} else {
			b.text = append(b.text, fields[:end]...)
		}
		b.text = append(b.text, fields[end:next]...)
		fields = fields[next:]
	}
}

// variable returns where the first IP address or uid in the keys of fieldsV1 begins and ends.
func variable(fields []byte) (int, int) {
	from, to := len(fields), len(fields)
	for _, key := range []string{`\"ip\":\"`, `\"uid\":\"`} {
		if i := bytes.Index(fields, []byte(key)); i >= 0 && i+len(key) < from {
			from = i + len(key)
			to = from + max(bytes.IndexByte(fields[from:], '\\'), 0)
		}
	}
	return from, to
}

// values finds the values of selectable fields and the labels.
func (b *builder) values() error {
	var values []string
	for _, f := range b.kind.fields {
		values = append(values, f.value(b.raw))
	}
	if b.labels.to > 0 && string(b.labels.of(b.raw)) != "null" {
		err := members(b.raw, b.labels.from, func(key, value span) error {
			k, err := unquote(b.raw[key.from-1 : key.to+1])
			if err != nil {
				return err
			}
			v, err := unquote(value.of(b.raw))
			values = append(values, k, v)
			return err
		})
		if err != nil {
			return fmt.Errorf("metadata.labels: %w", err)
		}
	}
	b.object.values = make([]span, len(values))
	for i, v := range values {
		b.object.values[i] = b.locate(v)
	}
	b.object.uid = b.locate(b.uid)
	return nil
}

// locate returns where a value is in the text, and appends it if the text does not have it.
func (b *builder) locate(value string) span {
	i := bytes.Index(b.text, []byte(value))
	if i < 0 {
		i = len(b.text)
		b.text = append(b.text, value...)
	}
	return span{uint32(i), uint32(i + len(value))}
}

func (b *builder) finish() (*object, error) {
	name, namespace := b.locate(b.name), b.locate(b.namespace)
	o := b.object
	o.text = bytes.Clone(b.text)
	o.name, o.namespace = textOf(name.of(o.text)), textOf(namespace.of(o.text))
	if strings.Contains(o.name, "/") {
		return nil, fmt.Errorf("metadata.name %.60q has a slash", o.name)
	}
	return o, nil
}
