package explain

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ReadRequests reads requests, one a line: an optional method, a URL, and headers in the form name:value, without
// spaces in values. Empty lines and lines that begin with # are skipped. See ParseRequest.
func ReadRequests(r io.Reader, inbound bool) ([]Request, error) {
	var out []Request
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		method := ""
		if len(words) > 1 && !strings.Contains(words[0], "://") {
			method, words = strings.ToUpper(words[0]), words[1:]
		}
		request, err := ParseRequest(method, words[0], words[1:], inbound)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		out = append(out, request)
	}
	return out, lines.Err()
}
