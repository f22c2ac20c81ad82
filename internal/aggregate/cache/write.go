package cache

import (
	"fmt"
	"io"
	"strconv"
)

// flushSize is the size from which a list is written to the client.
const flushSize = 64 << 10

// WriteTo writes the list as JSON.
func (l *List) WriteTo(to io.Writer) (int64, error) {
	head := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q`, l.kind.ListKind, l.kind.Resource.GroupVersion())
	return l.write(to, head, Object.AppendJSON)
}

// WritePartialTo writes the list as PartialObjectMetadataList.
func (l *List) WritePartialTo(to io.Writer) (int64, error) {
	head := `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1"`
	return l.write(to, []byte(head), Object.AppendPartialJSON)
}

func (l *List) write(to io.Writer, head []byte, form func(Object, []byte) []byte) (int64, error) {
	buffer := make([]byte, 0, flushSize+32<<10)
	buffer = append(append(buffer, head...), `,"metadata":{"resourceVersion":"`...)
	buffer = append(append(buffer, l.ResourceVersion...), '"')
	if l.Continue != "" {
		buffer = append(append(append(buffer, `,"continue":"`...), l.Continue...), '"')
	}
	if l.Remaining != nil {
		buffer = strconv.AppendInt(append(buffer, `,"remainingItemCount":`...), *l.Remaining, 10)
	}
	buffer = append(buffer, `},"items":[`...)
	var written int64
	flush := func() error {
		n, err := to.Write(buffer)
		written += int64(n)
		buffer = buffer[:0]
		return err
	}
	comma := false
	for o := range l.All() {
		if comma {
			buffer = append(buffer, ',')
		}
		comma = true
		if buffer = form(o, buffer); len(buffer) >= flushSize {
			if err := flush(); err != nil {
				return written, err
			}
		}
	}
	buffer = append(buffer, "]}\n"...)
	err := flush()
	return written, err
}
