package incremental

// pageSize is the number of values of a page. Admission evaluates graphs of a few objects, for which larger pages would
// be slower.
const pageSize = 16

// pages holds numbered values of one type. A number needs half of the memory of a pointer, the size of a value is not
// rounded up to a size class of the allocator, and the garbage collector has few objects to mark. Values do not move.
type pages[T any] []*[pageSize]T

func (p pages[T]) at(number uint32) *T { return &p[number/pageSize][number%pageSize] }

// cover adds the page of a number, if all pages before it exist.
func (p *pages[T]) cover(number uint32) {
	if int(number/pageSize) == len(*p) {
		*p = append(*p, new([pageSize]T))
	}
}

// pool allocates numbered values. Numbers start at 1, and 0 means none. Pages stay: their number is that of the time
// with the most values.
type pool[T any] struct {
	pages[T]
	last uint32   // the largest number that was ever used
	free []uint32 // numbers up to the last that are not used
}

// add returns the number of a zero value.
func (p *pool[T]) add() uint32 {
	if last := len(p.free) - 1; last >= 0 {
		number := p.free[last]
		p.free = p.free[:last]
		return number
	}
	p.last++
	p.cover(p.last)
	return p.last
}

func (p *pool[T]) remove(number uint32) {
	var none T
	*p.at(number) = none
	p.free = append(p.free, number)
}

// used is the number of values.
func (p *pool[T]) used() int { return int(p.last) - len(p.free) }
