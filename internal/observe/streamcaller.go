package observe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// stream waits for the greeting of the server, then sends the response script.
func (c *caller) stream(ctx context.Context) (Observation, error) {
	conn, err := c.connect(ctx, c.to.String())
	if err != nil {
		return Observation{}, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(responseTimeout)); err != nil {
		return Observation{}, err
	}
	if name := c.line.Request.ServerName; name != "" {
		conn = recordingConn{conn, &c.raw}
		// The greeting identifies the server.
		conn = tls.Client(conn, &tls.Config{ServerName: name, InsecureSkipVerify: true})
	}
	server := bufio.NewReader(conn)
	greeting, err := server.ReadString('\n')
	if _, is := errors.AsType[tls.RecordHeaderError](err); is {
		return Observation{Status: c.raw.status()}, nil
	}
	if err != nil {
		return Observation{}, err
	}
	if c.hold {
		<-ctx.Done()
		return Observation{}, ctx.Err()
	}
	seen := Observation{Status: broken}
	if err := decodeReceived(greeting, &seen.Received); err != nil {
		return Observation{}, err
	}
	if _, err := io.WriteString(conn, c.script()+"\n"); err != nil {
		return Observation{}, err
	}
	text, err := io.ReadAll(server)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Observation{}, err
	}
	if strings.TrimSpace(string(text)) == complete {
		seen.Status = complete
	}
	return seen, nil
}
