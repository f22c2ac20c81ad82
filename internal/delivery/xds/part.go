package xds

// part holds resources of one type: those of one key, or those that keys share. Each name has a number, so that the
// state of a client for a thousand resources takes a thousand bytes, without strings. A name keeps its number while it
// has a resource or a client has an entry for it.
type part struct {
	index index
	slots []slot
	free  []uint32
	// placeholders is the number of names without a resource.
	placeholders int
	searchFrom   int    // number of placeholders from which unused ones are searched; of Shared
	digest       uint64 // sum of the digests of all resources: one change costs one addition
}

// slot is a number of a part. What a client that connects needs of each resource is in it: thousands of resources are
// in no cache of the processor.
type slot struct {
	name     string    // empty if the number is free
	resource *Resource // nil if there is none with the name
	size     uint32    // of the resource in a response, in bytes
}

func newSlot(r *Resource) slot { return slot{r.Name, r, uint32(len(r.deltaField))} }

func (p *part) name(i uint32) string { return p.slots[i].name }

// resource returns the published resource with the number, or nil.
func (p *part) resource(i uint32) *Resource { return p.slots[i].resource }

// find returns the number of a name. It looks at the next number first, and changes it to the one after that of the
// name: clients mostly name resources in their order.
func (p *part) find(name string, next *uint32) (uint32, bool) {
	if at := *next; int(at) < len(p.slots) && p.slots[at].name == name {
		*next++
		return at, true
	}
	i, known := p.index.find(name, p.name)
	if known {
		*next = i + 1
	}
	return i, known
}

// assign assigns a number to a name, with its resource or nil.
func (p *part) assign(name string, r *Resource) uint32 {
	var i uint32
	if last := len(p.free) - 1; last >= 0 {
		i, p.free = p.free[last], p.free[:last]
	} else {
		i = uint32(len(p.slots))
		p.slots = append(p.slots, slot{})
	}
	p.slots[i] = slot{name: name}
	p.index.add(name, i, p.name)
	if r == nil {
		p.placeholders++
	} else {
		p.slots[i] = newSlot(r)
		p.digest += r.digest
	}
	return i
}

// put adds or replaces a resource. It returns the previous one, or nil, and reports whether anything changed.
func (p *part) put(r *Resource) (i uint32, before *Resource, changed bool) {
	i, known := p.index.find(r.Name, p.name)
	if !known {
		return p.assign(r.Name, r), nil, true
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
	p.slots[i] = newSlot(r)
	p.digest += r.digest
	return i, before, true
}

// remove removes a resource and returns it, or nil if there is none. Its name keeps its number.
func (p *part) remove(name string) (i uint32, before *Resource) {
	i, known := p.index.find(name, p.name)
	if !known {
		return 0, nil
	}
	if before = p.resource(i); before != nil {
		p.digest -= before.digest
		p.placeholders++
		p.slots[i].resource = nil
	}
	return i, before
}

// drop frees the number of a name without a resource.
func (p *part) drop(i uint32) {
	p.index.remove(p.name(i), p.name)
	p.slots[i] = slot{}
	p.free = append(p.free, i)
	p.placeholders--
}
