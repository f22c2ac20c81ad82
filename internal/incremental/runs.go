package incremental

// runs holds lists of numbers in common pages. A list of four numbers takes 20 bytes there, with its length. It would
// take 40 as a slice.
type runs[T ~uint32] struct {
	pages [][]T
	used  uint32 // of the last page
	// free are the unused lists by their length.
	free [maxRun + 1][]runID
	// large are the lists that are longer than maxRun.
	large pool[[]T]
}

// runID is the number of a list: its position in all pages or, with the bit largeRun, its number among the large ones.
// It is 0 for an empty list.
type runID uint32

const (
	// maxRun is the length up to which a list is in a page. Unused lists are kept by length, so that there must be few.
	maxRun      = 32
	runPageBits = 8
	runPageSize = 1 << runPageBits
	largeRun    = runID(1 << 31)
)

// get returns a list. It must not be used after remove.
func (r *runs[T]) get(id runID) []T {
	switch {
	case id == 0:
		return nil
	case id&largeRun != 0:
		return *r.large.at(uint32(id &^ largeRun))
	}
	page, at := r.pages[id>>runPageBits], id%runPageSize
	length := runID(page[at])
	return page[at+1 : at+1+length : at+1+length]
}

// add returns the number of a copy of a list.
func (r *runs[T]) add(list []T) runID {
	if len(list) == 0 {
		return 0
	}
	if len(list) > maxRun {
		number := r.large.add()
		*r.large.at(number) = append(make([]T, 0, len(list)), list...)
		return runID(number) | largeRun
	}
	id := r.unused(len(list))
	page, at := r.pages[id>>runPageBits], id%runPageSize
	page[at] = T(len(list))
	copy(page[at+1:], list)
	return id
}

// unused returns the number of a list of a length that is not used.
func (r *runs[T]) unused(length int) runID {
	if free := r.free[length]; len(free) > 0 {
		r.free[length] = free[:len(free)-1]
		return free[len(free)-1]
	}
	size := uint32(length + 1)
	if len(r.pages) == 0 || r.used+size > runPageSize {
		r.pages = append(r.pages, make([]T, runPageSize))
		r.used = 1 // no list has the number 0
	}
	id := runID(uint32(len(r.pages)-1)<<runPageBits | r.used)
	r.used += size
	return id
}

func (r *runs[T]) remove(id runID) {
	switch {
	case id == 0:
	case id&largeRun != 0:
		r.large.remove(uint32(id &^ largeRun))
	default:
		length := len(r.get(id))
		r.free[length] = append(r.free[length], id)
	}
}
