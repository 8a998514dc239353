package escape

import (
	"bytes"
	"debug/elf"
	"debug/gosym"
	"runtime"
	"testing"

	embedded "hermes.example/hermes/internal/programs"
)

// forkAddress is the address behind the instruction for which the guest's filter has
// an exception, as in spawn.ForkAddress, or 0 where this test cannot find it.
func forkAddress(t *testing.T) uint64 {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		return 0
	}
	path, err := embedded.Guest.Extract(t.TempDir(), runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	guest, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	text, lines := guest.Section(".text"), guest.Section(".gopclntab")
	if text == nil || lines == nil {
		t.Fatal("the guest is no Go program as we know it")
	}
	code, err := text.Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := lines.Data()
	if err != nil {
		t.Fatal(err)
	}
	symbols, err := gosym.NewTable(nil, gosym.NewLineTable(table, text.Addr))
	if err != nil {
		t.Fatal(err)
	}
	fork := symbols.LookupFunc("hermes.example/hermes/internal/guest/spawn.fork")
	if fork == nil {
		t.Fatal("the guest has no fork of its own")
	}
	instruction := []byte{0x0f, 0x05} // syscall
	if !bytes.HasPrefix(code[fork.Entry-text.Addr:], instruction) {
		t.Fatal("the guest's fork does not begin with a system call")
	}
	return fork.Entry + uint64(len(instruction))
}
