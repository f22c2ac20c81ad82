package requests

import "anymesh.dev/anymesh/model"

// predicates adds a dimension for each value of the metadata that predicates are about.
func (c *collector) predicates(matches []model.Match) {
	found := map[string][]any{}
	var order []string
	var visit func(p model.Predicate)
	visit = func(p model.Predicate) {
		for _, part := range p.Apply {
			visit(part)
		}
		if p.Path == "" {
			return
		}
		if _, known := found[p.Path]; !known {
			order = append(order, p.Path)
			found[p.Path] = nil
		}
		found[p.Path] = append(found[p.Path], predicateValues(p)...)
	}
	for _, m := range matches {
		if m.Predicate != nil {
			visit(*m.Predicate)
		}
	}
	for _, path := range order {
		d := dimension{name: "metadata " + path, values: []func(*draft){func(*draft) {}}}
		for _, v := range append(found[path], other) {
			d.values = append(d.values, func(r *draft) { r.Request = r.WithMetadata(path, v) })
		}
		c.metadata = append(c.metadata, d)
	}
}

// predicateValues returns values on both sides of a comparison.
func predicateValues(p model.Predicate) []any {
	switch v := p.Value.(type) {
	case string:
		switch p.Op {
		case "matches":
			var out []any
			for _, s := range samples(v) {
				out = append(out, s)
			}
			return out
		case "contains":
			return []any{v, "x" + v + "x"}
		case "starts", "ends":
			return []any{v, v + "x", "x" + v}
		}
		return []any{v}
	case float64:
		return []any{v - 1, v, v + 1}
	case []any:
		return v
	case nil:
		return nil
	}
	return []any{p.Value}
}
