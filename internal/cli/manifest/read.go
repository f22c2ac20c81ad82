package manifest

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// Read reads the documents of files and of folders, recursively, ordered by name. It returns an error if a file cannot
// be read, and faults for invalid content.
func Read(names []string, in io.Reader) ([]*Document, []Fault, error) {
	var documents []*Document
	var faults []Fault
	add := func(name string, text []byte) {
		found, wrong := split(name, text)
		documents, faults = append(documents, found...), append(faults, wrong...)
	}
	for _, name := range names {
		if name == Stdin {
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, nil, fmt.Errorf("reading standard input: %w", err)
			}
			add("stdin", text)
			continue
		}
		files, err := list(name)
		if err != nil {
			return nil, nil, fmt.Errorf("reading manifests: %w", err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, nil, fmt.Errorf("reading manifests: %w", err)
			}
			add(file, text)
		}
	}
	return documents, faults, nil
}

// list returns the file itself, or the files below a folder. The folder may be a symbolic link. Folders whose name
// begins with a dot are skipped.
func list(name string) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil || !info.IsDir() {
		return []string{name}, err
	}
	var files []string
	err = filepath.WalkDir(strings.TrimSuffix(name, "/")+"/", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && len(path) > len(name)+1 && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains(extensions, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// split splits a file at document markers.
func split(file string, text []byte) (documents []*Document, faults []Fault) {
	first, number := 1, 0
	var current []byte
	flush := func() {
		found, wrong := parse(file, first, current)
		documents, faults = append(documents, found...), append(faults, wrong...)
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
	return documents, faults
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
