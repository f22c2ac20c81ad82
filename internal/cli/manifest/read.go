package manifest

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"anymesh.dev/anymesh/model"
)

// Stdin is the file name for standard input.
const Stdin = "-"

// extensions select the files of folders. Files that the user names may have any extension.
var extensions = []string{".yaml", ".yml", ".json"}

// Fault is a finding about a document.
type Fault struct {
	Document *Document
	model.Finding
}

// Files is the content of manifest files.
type Files struct {
	Documents []*Document
	// Faults are findings about invalid content.
	Faults []Fault
	// Skips are files and folders whose objects are not read.
	Skips []Skip
}

// Read reads the documents of files and of folders, recursively, ordered by name. It returns an error if a file cannot
// be read, and faults for invalid content.
func Read(names []string, in io.Reader) (*Files, error) {
	f := &Files{}
	for _, name := range names {
		if name == Stdin {
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, fmt.Errorf("reading standard input: %w", err)
			}
			f.add("stdin", text)
			continue
		}
		files, err := f.list(name)
		if err != nil {
			return nil, fmt.Errorf("reading manifests: %w", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("reading manifests: %w", err)
			}
			f.add(file, text)
		}
	}
	return f, nil
}

// add adds the content of a file. A file without any Kubernetes object is skipped; in another one, a document that is
// no object is a fault.
func (f *Files) add(name string, raw []byte) {
	text, err := toUTF8(raw)
	if err != nil {
		f.Faults = append(f.Faults, fileDocument(name, 1).fault("", model.CodeUnreadable, "%v", err))
		return
	}
	s := split(name, text)
	skip := func(reason SkipReason) { f.Skips = append(f.Skips, Skip{Name: name, Reason: reason, Files: 1}) }
	switch {
	case isTemplate(name, text, s.documents, len(s.faults) > 0):
		skip(SkipTemplate)
	case len(s.documents) > 0:
		f.Documents = append(f.Documents, s.documents...)
		f.Faults = slices.Concat(f.Faults, s.faults, s.others)
	case len(s.faults) > 0 && (filepath.Ext(name) != ".json" || bytes.Contains(text, []byte("apiVersion"))):
		f.Faults = append(f.Faults, s.faults...)
	case len(s.faults)+len(s.others) > 0:
		skip(SkipNotKubernetes)
	default:
		skip(SkipEmpty)
	}
}

// parsed is the content of a file or of a document of it.
type parsed struct {
	documents []*Document
	faults    []Fault
	// others are faults for documents that are no Kubernetes objects.
	others []Fault
}

func (p *parsed) add(more parsed) {
	p.documents = append(p.documents, more.documents...)
	p.faults = append(p.faults, more.faults...)
	p.others = append(p.others, more.others...)
}

// split splits a file at document markers.
func split(file string, text []byte) (out parsed) {
	first, number := 1, 0
	var current []byte
	flush := func() {
		out.add(parse(file, first, current))
		current = nil
	}
	for line := range lines(text) {
		number++
		if rest, marked := bytes.CutPrefix(line, []byte("---")); marked &&
			(len(bytes.TrimSpace(rest)) == 0 || rest[0] == ' ') {
			flush()
			first = number
			line = append([]byte("   "), rest...) // content after the marker belongs to the document
		}
		current = append(current, line...)
	}
	flush()
	return out
}

// lines splits a text after line breaks as defined by YAML 1.1 (4.2), so that line numbers agree with the YAML parser.
func lines(text []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(text) > 0 {
			end := bytes.IndexAny(text, "\r\n\u0085\u2028\u2029")
			switch {
			case end < 0:
				end = len(text)
			case bytes.HasPrefix(text[end:], []byte("\r\n")):
				end += 2
			default:
				_, size := utf8.DecodeRune(text[end:])
				end += size
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}
