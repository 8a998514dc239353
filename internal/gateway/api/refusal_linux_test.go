package api_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/client"
)

// Who sends a lot that cannot be taken gets the answer, also where it comes while he sends.
func TestARefusalReachesWhoStillSends(t *testing.T) {
	w := newWorld(t).begin()
	piece := make([]byte, 1<<20)
	for name, test := range map[string]struct {
		path, media string
		megabytes   int
		status      string
	}{
		"an archive for no directory": {"/archive?path=nowhere", "application/x-tar", 64, "404"},
		"too long a command":          {"/exec", "application/json", 16, "413"},
	} {
		for i := range 5 {
			conn, err := net.Dial("tcp", w.server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			conn.SetDeadline(time.Now().Add(20 * time.Second))
			method := map[bool]string{true: "POST", false: "PUT"}[test.path == "/exec"]
			fmt.Fprintf(conn, "%s /v1/sandboxes/work%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n", method, test.path, test.media)
			for sent := range test.megabytes { // like a client that listens when it has said all
				if _, err := fmt.Fprintf(conn, "%x\r\n%s\r\n", len(piece), piece); err != nil {
					t.Fatalf("%s, time %d: after %d MiB: %v", name, i, sent, err)
				}
			}
			io.WriteString(conn, "0\r\n\r\n")
			line, err := bufio.NewReader(conn).ReadString('\n')
			if conn.Close(); !strings.Contains(line, test.status) {
				t.Fatalf("%s, time %d: %q, %v", name, i, line, err)
			}
		}
	}
}

// What is wrong with an archive is its sender's matter, and no failure of the gateway.
func TestADamagedArchiveIsRefused(t *testing.T) {
	w := newWorld(t).begin()
	for _, archive := range []string{strings.Repeat("rubbish ", 200), strings.Repeat("x", 700)} {
		w.refused(client.CodeUnprocessable, "PUT", "/v1/sandboxes/work/archive?path=.", strings.NewReader(archive), "Content-Type", "application/x-tar")
	}
}
