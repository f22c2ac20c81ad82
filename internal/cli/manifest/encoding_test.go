package manifest

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// toUTF16 returns a text as UTF-16 with a byte order mark.
func toUTF16(t *testing.T, text string, order binary.ByteOrder) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := binary.Write(&out, order, utf16.Encode([]rune("\uFEFF"+text))); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

const twoObjects = "{apiVersion: v1, kind: ConfigMap, metadata: {name: ä😀}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n"

func TestEncodingsWithByteOrderMark(t *testing.T) {
	for name, text := range map[string][]byte{
		"UTF-8": []byte("\uFEFF" + twoObjects), "little endian": toUTF16(t, twoObjects, binary.LittleEndian),
		"big endian": toUTF16(t, twoObjects, binary.BigEndian),
	} {
		files, err := Read([]string{Stdin}, bytes.NewReader(text))
		if err != nil || len(files.Faults)+len(files.Skips) > 0 || len(files.Documents) != 2 ||
			files.Documents[0].Ref.Name != "ä😀" || files.Documents[1].Line != 3 {
			t.Errorf("%s: got %+v, %v, want two documents", name, files, err)
		}
	}
}

// A file with another encoding has one finding, and none of its objects is read.
func TestOtherEncodings(t *testing.T) {
	whole := toUTF16(t, twoObjects, binary.LittleEndian)
	for name, c := range map[string]struct {
		text []byte
		want string
	}{
		"UTF-16 without mark": {whole[2:], "zero bytes"}, "an odd number of bytes": {whole[:len(whole)-1], "not valid UTF-16"},
		"half a surrogate": {append([]byte{0xff, 0xfe}, 0, 0xd8), "not valid UTF-16"},
		"two halves":       {append([]byte{0xff, 0xfe}, 0, 0xd8, 0, 0xd8), "not valid UTF-16"},
		"UTF-32":           {[]byte{0xff, 0xfe, 0, 0, 'a', 0, 0, 0}, "UTF-32"},
		"Latin-1":          {append([]byte(twoObjects), "# \xe4\n"...), "not valid UTF-8"},
	} {
		files, err := Read([]string{Stdin}, bytes.NewReader(c.text))
		if err != nil || len(files.Documents)+len(files.Skips) > 0 || len(files.Faults) != 1 ||
			!strings.Contains(files.Faults[0].Text, c.want) {
			t.Errorf("%s: got %+v, %v, want one fault with %q", name, files, err, c.want)
		}
	}
}
