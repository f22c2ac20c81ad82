package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// Answers other than the version of a server.
const (
	unresolved = "unresolved"
	closed     = "closed"
)

// call is a call of a client with the expected answer.
type call struct {
	family, host string // any, ipv4 or ipv6
	port         int
	protocol     string // tcp or http
	want         string
}

// caller makes calls from a pod of namespace names, and returns their answers in order.
type caller func(ctx context.Context, pod string, calls []call) ([]string, error)

var callers = map[string]caller{
	"go":     callFromGo,
	"python": callByExec("python", "call.py"),
	"musl":   callByExec("musl", "call-musl"),
}

// callByExec returns a caller that runs a program of test/e2e/callers in a container.
func callByExec(container, program string) caller {
	return func(ctx context.Context, pod string, calls []call) ([]string, error) {
		var input strings.Builder
		for _, c := range calls {
			fmt.Fprintf(&input, "%s %s %d %s\n", c.family, c.host, c.port, c.protocol)
		}
		out, err := kubectlInput(ctx, input.String(), "-n", "names", "exec", "-i", pod, "-c", container, "--", program)
		if err != nil {
			return nil, err
		}
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if len(lines) != len(calls) {
			return nil, fmt.Errorf("%s: %d answers for %d calls: %s", program, len(lines), len(calls), out)
		}
		for i, c := range calls {
			lines[i] = answerOf(c.protocol, lines[i])
		}
		return lines, nil
	}
}

// httpAnswer matches the status and the version of a server.
var httpAnswer = regexp.MustCompile(`^HTTP/1\.1 (\d+) .*?("version":"([^"]*)".*)?$`)

// answerOf returns the version of the server, or why there is none, from what a client received.
func answerOf(protocol, received string) string {
	received = strings.TrimSpace(received)
	switch {
	case received == "" || strings.Contains(received, "reset by peer"):
		return closed
	case protocol == "http":
		if m := httpAnswer.FindStringSubmatch(received); m != nil && m[1] != "200" {
			return "status " + m[1]
		} else if m != nil {
			return m[3]
		}
	case strings.HasSuffix(received, " hello"): // the echo of the request
		return strings.TrimSuffix(received, " hello")
	}
	return received
}

// callFromGo makes calls from the client in Go.
func callFromGo(ctx context.Context, pod string, calls []call) ([]string, error) {
	answers := make([]string, len(calls))
	for i, c := range calls {
		target := url.URL{Scheme: c.protocol, Host: fmt.Sprintf("%s:%d", c.host, c.port), Path: "/"}
		network := map[string]string{"ipv4": "tcp4", "ipv6": "tcp6", "any": "tcp"}[c.family]
		raw, err := lab.kube.CoreV1().RESTClient().Get().Namespace("names").Resource("pods").Name(pod+":8080").
			SubResource("proxy").Suffix("call").Param("url", target.String()).Param("network", network).DoRaw(ctx)
		if err != nil {
			return nil, err
		}
		var o outcome
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, err
		}
		switch {
		case strings.Contains(o.Error, "no such host"):
			answers[i] = unresolved
		case strings.HasSuffix(o.Error, "EOF"), strings.Contains(o.Error, "reset by peer"):
			answers[i] = closed
		case o.Error != "":
			answers[i] = o.Error
		case o.Status != 200:
			answers[i] = fmt.Sprint("status ", o.Status)
		default:
			answers[i] = o.Version
		}
	}
	return answers, nil
}
