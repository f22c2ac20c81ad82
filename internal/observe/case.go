package observe

import (
	"fmt"

	"anymesh.dev/anymesh/internal/dialect"
	_ "anymesh.dev/anymesh/internal/dialect/builtin" // cases are about all of them
	"anymesh.dev/anymesh/test/cases"
)

// Case is a file of test/cases.
type Case struct {
	*cases.Case
	Lines []Line

	dialects []dialect.Dialect
	path     string
}

// ReadCase reads a case: a file, or with a relative path one of those of package cases. Errors name the file and the
// line.
func ReadCase(path string) (*Case, error) {
	read, err := cases.Read(path)
	if err != nil {
		return nil, err
	}
	c := &Case{Case: read, path: path}
	if c.Lines, err = parseLines(string(c.Section(cases.RequestsSection))); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, cases.RequestsSection, err)
	}
	if c.dialects, err = dialect.Configured(c.Settings); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Cases returns the cases of all dialects.
func Cases() ([]*Case, error) {
	var out []*Case
	for _, name := range cases.Names("*") {
		c, err := ReadCase(name)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}
