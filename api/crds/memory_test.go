package crds

import (
	"runtime"
	"testing"
	"weak"
)

func TestDecodedObjectsAreNotKept(t *testing.T) {
	all, err := decoded()
	if err != nil {
		t.Fatal(err)
	}
	decoded := weak.Make(all[0])
	runtime.GC()
	runtime.KeepAlive(all)
	if decoded.Value() == nil {
		t.Error("objects in use are collected")
	}
	runtime.GC()
	if decoded.Value() != nil {
		t.Error("objects are kept after their last use")
	}
}
