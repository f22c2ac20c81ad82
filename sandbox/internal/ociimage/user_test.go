package ociimage

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLookUp(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(folder, "etc"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "etc", name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := LookUp(folder, "1337:7"); err != nil || !reflect.DeepEqual(got, User{UID: 1337, GID: 7, Home: "/"}) {
		t.Errorf("without files: %+v, %v", got, err)
	}
	write(
		"passwd",
		"# users\nroot:x:0:0:root:/root:/bin/sh\nweb:x:33:34::/srv:\nbad:x:x:1::/:\n12:x:13:14::/twelve:\nlost:x:40:x::/:\n",
	)
	write("group", "root:x:0:\nwww:x:34:web\nlogs:x:50:other,web\nstaff:x:51\n")
	for text, want := range map[string]User{
		"":          {Home: "/root"},
		"root":      {Home: "/root"},
		"0":         {Home: "/root"},
		"web":       {33, 34, []int{50}, "/srv"},
		"33":        {33, 34, []int{50}, "/srv"},
		"web:":      {33, 34, []int{50}, "/srv"},
		"web:logs":  {33, 50, nil, "/srv"},
		"33:77":     {33, 77, nil, "/srv"},
		"1000":      {1000, 0, nil, "/"},
		"1000:logs": {1000, 50, nil, "/"},
		":logs":     {0, 50, nil, "/root"},
		"12":        {13, 14, nil, "/twelve"},
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := LookUp(folder, text); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v (%v)", got, want, err)
			}
		})
	}
	for text, want := range map[string]string{
		"nobody":      `user "nobody" is not in the image's /etc/passwd`,
		"web:nobody":  `group "nobody" is not in the image's /etc/group`,
		"-1":          `user "-1"`,
		"99999999999": `user "99999999999"`,
		"bad":         `user "bad"`,
		"lost":        "the group of user lost",
	} {
		t.Run(text, func(t *testing.T) {
			if got, err := LookUp(folder, text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("want an error with %q, got %+v, %v", want, got, err)
			}
		})
	}
	if err := os.Remove(filepath.Join(folder, "etc/passwd")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(folder, "etc/passwd")); err != nil {
		t.Fatal(err)
	}
	if got, err := LookUp(folder, "root"); err == nil {
		t.Errorf("the passwd file of this machine was read: %+v", got)
	}
}
