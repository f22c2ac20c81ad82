package xds

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// frame is an encoded message in parts that are written as they are, so that a
// thousand clients share one copy of a resource.
type frame [][]byte

func (f frame) size() int {
	n := 0
	for _, part := range f {
		n += len(part)
	}
	return n
}

// codec writes frames and reads requests, and does everything else as gRPC does.
type codec struct {
	encoding.CodecV2
}

func newCodec() codec { return codec{encoding.GetCodecV2(proto.Name)} }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	f, ok := v.(frame)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	out := make(mem.BufferSlice, 0, len(f))
	for _, part := range f {
		if len(part) > 0 {
			out = append(out, mem.SliceBuffer(part))
		}
	}
	return out, nil
}
