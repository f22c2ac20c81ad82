package appmesh

// fieldPaths are field paths that many objects have in common. The origins of model items share them.
type fieldPaths map[string]string

// maxFieldPaths limits the memory of paths that are not in use anymore.
const maxFieldPaths = 4096

// shared returns an equal path.
func (p fieldPaths) shared(path string) string {
	if known, is := p[path]; is {
		return known
	}
	if len(p) < maxFieldPaths {
		p[path] = path
	}
	return path
}
