package xds

// part holds resources of one type: those of one key, or those that keys share. Each name has a number, so that the
// state of a client for a thousand resources takes a thousand bytes, without strings. A name keeps its number while it
// has a resource or a client has an entry for it.
type part struct {
	index index
	slots []*Resource // a name is in its resource, or in a placeholder without content; nil if it is free
	free  []uint32
	// placeholders is the number of names without a resource.
	placeholders int
	searchFrom   int    // number of placeholders from which unused ones are searched; of Shared
	digest       uint64 // sum of the digests of all resources: one change costs one addition
}

func (p *part) name(i uint32) string { return p.slots[i].Name }

// resource returns the published resource with the number, or nil. It does not read the resource unless there are
// placeholders: those of thousands of services are in no cache of the processor.
func (p *part) resource(i uint32) *Resource {
	if r := p.slots[i]; r != nil && (p.placeholders == 0 || r.deltaField != nil) {
		return r
	}
	return nil
}

// find returns the number of a name. It looks at the next number first, and changes it to the one after that of the
// name: clients mostly name resources in their order.
func (p *part) find(name string, next *uint32) (uint32, bool) {
	if at := *next; int(at) < len(p.slots) && p.slots[at] != nil && p.slots[at].Name == name {
		*next++
		return at, true
	}
	i, known := p.index.find(name, p.name)
	if known {
		*next = i + 1
	}
	return i, known
}

// assign assigns a number to the name of a resource or placeholder.
func (p *part) assign(r *Resource) uint32 {
	var i uint32
	if last := len(p.free) - 1; last >= 0 {
		i, p.free = p.free[last], p.free[:last]
	} else {
		i = uint32(len(p.slots))
		p.slots = append(p.slots, nil)
	}
	p.slots[i] = r
	p.index.add(r.Name, i, p.name)
	if r.deltaField == nil {
		p.placeholders++
	}
	p.digest += r.digest
	return i
}

// put adds or replaces a resource. It returns the previous one, or nil, and reports whether anything changed.
func (p *part) put(r *Resource) (i uint32, before *Resource, changed bool) {
	i, known := p.index.find(r.Name, p.name)
	if !known {
		return p.assign(r), nil, true
	}
	before = p.resource(i)
	switch {
	case before == nil:
		p.placeholders--
	case before.Version == r.Version:
		return i, before, false
	default:
		p.digest -= before.digest
	}
	p.slots[i] = r
	p.digest += r.digest
	return i, before, true
}

// remove replaces a resource by a placeholder, and returns it. It returns nil if there is none.
func (p *part) remove(name string) (i uint32, before *Resource) {
	i, known := p.index.find(name, p.name)
	if !known {
		return 0, nil
	}
	if before = p.resource(i); before != nil {
		p.digest -= before.digest
		p.placeholders++
		p.slots[i] = &Resource{Name: before.Name}
	}
	return i, before
}

// drop frees the number of a placeholder.
func (p *part) drop(i uint32) {
	p.index.remove(p.name(i), p.name)
	p.slots[i] = nil
	p.free = append(p.free, i)
	p.placeholders--
}
