package listen

import (
	"net"
	"strings"
	"testing"
)

func TestIPv4MeansIPv4(t *testing.T) {
	for host, want := range map[string]string{"0.0.0.0": "0.0.0.0", "127.0.0.1": "127.0.0.1", "localhost": ""} {
		l, err := TCP(t.Context(), host, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr().(*net.TCPAddr).IP.String(); want != "" && got != want {
			t.Errorf("%s listens on %s", host, got)
		}
		l.Close()
	}
}

func TestAPortThatIsTakenIsNamedOnce(t *testing.T) {
	l, err := TCP(t.Context(), "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = TCP(t.Context(), "127.0.0.1", l.Addr().(*net.TCPAddr).Port)
	if err == nil || strings.Count(err.Error(), l.Addr().String()) != 1 || !strings.HasPrefix(err.Error(), "cannot listen on ") {
		t.Errorf("got %v", err)
	}
}
