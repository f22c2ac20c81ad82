package crds

import (
	"runtime"
	"testing"
	"weak"
)

func TestDecodedObjectsAreNotKept(t *testing.T) {
	crd, err := decoded("l7mp.io_routes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoded := weak.Make(crd)
	runtime.GC()
	runtime.KeepAlive(crd)
	if decoded.Value() == nil {
		t.Error("objects in use are collected")
	}
	runtime.GC()
	if decoded.Value() != nil {
		t.Error("objects are kept after their last use")
	}
}
