package truncate

import (
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for _, row := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"it fits", "abc", 3, "abc"},
		{"too long", "abcd", 3, "abc"},
		{"at a boundary", "aé", 3, "aé"},
		{"within a character", "aé", 2, "a"},
		{"within the first character", "é", 1, ""},
		{"nothing", "abc", 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Text(row.text, row.limit); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestWithEllipsis(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"it fits", "12345678", "12345678"},
		{"too long", "123456789", "1234 ..."},
		{"within a character", "123é56789", "123 ..."},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := WithEllipsis(row.text, 8); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add("aé", 2)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if limit < 0 || !utf8.ValidString(text) {
			return
		}
		if got := Text(text, limit); len(got) > limit || !utf8.ValidString(got) {
			t.Errorf("got %q of at most %d bytes", got, limit)
		}
	})
}
