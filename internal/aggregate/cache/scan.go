package cache

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// span is a part of a text, from the first byte to before the end.
type span struct{ from, to uint32 }

func (s span) of(text []byte) []byte { return text[s.from:s.to] }

// members calls f with the raw key, without quotes, and the value of each member of a JSON object. The text must be
// valid JSON.
func members(text []byte, at uint32, f func(key, value span) error) error {
	i := skipSpace(text, at)
	if int(i) >= len(text) || text[i] != '{' {
		return errors.New("a value is not a JSON object")
	}
	for i = skipSpace(text, i+1); text[i] != '}'; {
		key := span{i + 1, skipValue(text, i) - 1}
		i = skipSpace(text, key.to+1)
		i = skipSpace(text, i+1)
		value := span{i, skipValue(text, i)}
		if err := f(key, value); err != nil {
			return err
		}
		if i = skipSpace(text, value.to); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

// elements calls f with each element of a JSON array. The text must be valid JSON.
func elements(text []byte, at uint32, f func(value span) error) error {
	i := skipSpace(text, at)
	if int(i) >= len(text) || text[i] != '[' {
		return errors.New("a value is not a JSON array")
	}
	for i = skipSpace(text, i+1); text[i] != ']'; {
		value := span{i, skipValue(text, i)}
		if err := f(value); err != nil {
			return err
		}
		if i = skipSpace(text, value.to); text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	return nil
}

func skipSpace(text []byte, i uint32) uint32 {
	for int(i) < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// skipValue returns the end of the JSON value that begins at i.
func skipValue(text []byte, i uint32) uint32 {
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		depth := 0
		for ; ; i++ {
			switch text[i] {
			case '"':
				i = skipString(text, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for int(i) < len(text) && !bytes.ContainsRune([]byte(",}] \n\t\r"), rune(text[i])) {
		i++
	}
	return i
}

func skipString(text []byte, i uint32) uint32 {
	for i++; ; i++ {
		i += uint32(bytes.IndexByte(text[i:], '"'))
		slashes := uint32(0)
		for text[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// find returns the value at a path of keys, and whether there is one. Of equal keys, the first counts. The key "0" also
// selects the first element of an array.
func find(text []byte, at uint32, path []string) (span, bool) {
	i := skipSpace(text, at)
	if len(path) == 0 {
		return span{i, skipValue(text, i)}, true
	}
	var found span
	errStop := errors.New("stop")
	var err error
	switch text[i] {
	case '{':
		err = members(text, i, func(key, value span) error {
			if raw := key.of(text); string(raw) != path[0] &&
				(bytes.IndexByte(raw, '\\') < 0 || decodeKey(text, key) != path[0]) {
				return nil
			}
			found = value
			return errStop
		})
	case '[':
		if path[0] == "0" {
			err = elements(text, i, func(value span) error {
				found = value
				return errStop
			})
		}
	}
	if !errors.Is(err, errStop) {
		return span{}, false
	}
	return find(text, found.from, path[1:])
}

// decodeKey returns a key of an object without escapes, so that two spellings of a key are equal.
func decodeKey(text []byte, key span) string {
	name, err := unquote(text[key.from-1 : key.to+1])
	if err != nil {
		return string(key.of(text)) // Valid JSON has no such key.
	}
	return name
}

// unquote returns the value of a JSON string.
func unquote(text []byte) (string, error) {
	if len(text) < 2 || text[0] != '"' {
		return "", fmt.Errorf("%.40q is not a string", text)
	}
	if bytes.IndexByte(text, '\\') < 0 {
		return string(text[1 : len(text)-1]), nil
	}
	var s string
	err := json.Unmarshal(text, &s)
	return s, err
}
