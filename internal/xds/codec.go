package xds

import (
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
)

// frame is an encoded message in parts that are written as they are, so that a
// thousand clients share one copy of a resource.
type frame mem.BufferSlice

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
	return mem.BufferSlice(f), nil
}
