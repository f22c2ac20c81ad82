package object

import (
	"errors"
	"fmt"
	"regexp"

	"anymesh.dev/anymesh/internal/proxy/config"
	"anymesh.dev/anymesh/internal/proxy/metadata"
)

// ErrRewrite is the error of a lookup whose rewrites fail.
var ErrRewrite = errors.New("the rewrite fails")

// Rewritten is a document that changes other parts of itself when rules have changed a copy of it, before further rules
// see the copy.
type Rewritten interface {
	Rewritten(copied *metadata.Tree) error
}

func (r *Rule) setRewrites(all []config.Rewrite) {
	r.Rewrite = all
	for _, w := range all {
		var pattern *regexp.Regexp
		if w.Pattern != "" {
			pattern = regexp.MustCompile(w.Pattern) // decoding refuses others
		}
		r.paths, r.patterns = append(r.paths, metadata.ParsePath(w.Path)), append(r.patterns, pattern)
	}
}

// rewrite applies the rewrites of a rule to a copy of the document: the one before, or a new one.
func (r *Rule) rewrite(d metadata.Document, copied *metadata.Tree) (*metadata.Tree, error) {
	if len(r.Rewrite) == 0 {
		return copied, nil
	}
	if copied == nil {
		tree := d.Tree()
		copied = &tree
	}
	for i, w := range r.Rewrite {
		value := w.Value
		if pattern := r.patterns[i]; pattern != nil {
			text := copied.Lookup(r.paths[i])
			found := pattern.FindStringIndex(text.Text)
			if text.Kind != metadata.String || found == nil {
				continue
			}
			value = text.Text[:found[0]] + w.Value.(string) + text.Text[found[1]:]
		}
		if err := copied.Set(r.paths[i], value); err != nil {
			return nil, fmt.Errorf("%w: rule %q: %w", ErrRewrite, r.Name, err)
		}
	}
	if of, is := d.(Rewritten); is && r.Apply != nil {
		if err := of.Rewritten(copied); err != nil {
			return nil, fmt.Errorf("%w: rule %q: %w", ErrRewrite, r.Name, err)
		}
	}
	return copied, nil
}
