package sampletar

import (
	"fmt"
	"strconv"
	"strings"
)

// words are what names are made of in what Parse reads: ordinary ones, those that lead elsewhere, and marks of layers.
var words = map[byte]string{'a': "a", 'd': "d", 'f': "f", '/': "/", '.': ".", '^': "..", 'o': "outside", 's': "secret", 'w': ".wh.", 'q': ".wh..wh..opq"}

const letters = "adf/.^oswq"

// Parse reads entries from text, a line each: the digit of a type, and after it, between tabs, name, link, content and
// mode. In names a letter is a word, and what is no letter or no digit of ours stands for one of them. So every text
// means something, and any change of it is a change that an unpacker sees, which a fuzzer would not live to find among
// all the bytes of an archive.
func Parse(text string) []Entry {
	var entries []Entry
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			continue
		}
		fields := append(strings.SplitN(line[1:], "\t", 4), "", "", "")
		e := Entry{Typeflag: '0' + line[0]%8, Name: spell(fields[0]), Link: spell(fields[1]), Content: fields[2]}
		for _, digit := range []byte(fields[3]) {
			e.Mode = (e.Mode<<3 | int64(digit%8)) & 0o7777
		}
		entries = append(entries, e)
	}
	return entries
}

func spell(field string) string {
	var b strings.Builder
	for _, letter := range []byte(field) {
		word, ok := words[letter]
		if !ok {
			word = words[letters[int(letter)%len(letters)]]
		}
		b.WriteString(word)
	}
	return b.String()
}

// Where a header says what it is checked by, how much follows it, and what it is of.
const (
	block            = 512
	sumFrom, sumTo   = 148, 156
	sizeFrom, sizeTo = 124, 136
	typeAt           = 156
)

// bare are the types of which nothing follows, whatever the header says: links, devices, directories and pipes.
const bare = "123456"

// Mend puts the check sums of an archive's headers right, in a copy: a header that a fuzzer has changed is read then
// as what it says.
func Mend(archive []byte) []byte {
	b := append([]byte(nil), archive...)
	for at := 0; at+block <= len(b); {
		header := b[at : at+block]
		at += block
		if strings.Trim(string(header), "\x00") == "" {
			continue
		}
		copy(header[sumFrom:sumTo], "        ")
		sum := 0
		for _, c := range header {
			sum += int(c)
		}
		copy(header[sumFrom:sumTo], fmt.Sprintf("%06o\x00 ", sum))
		size, err := strconv.ParseUint(strings.Trim(string(header[sizeFrom:sizeTo]), " \x00"), 8, 62)
		if err == nil && strings.IndexByte(bare, header[typeAt]) < 0 && size < uint64(len(b)) {
			at += int(size+block-1) / block * block
		}
	}
	return b
}
