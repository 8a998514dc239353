package client

import (
	"encoding/base64"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Data is bytes in JSON: text where they are UTF-8, base64 where they are not.
type Data struct {
	Text   string `json:"text,omitempty" jsonschema:"the bytes, if they are UTF-8"`
	Base64 string `json:"base64,omitempty" jsonschema:"the bytes in standard base64, if they are not"`
}

// NewData puts bytes into the form that loses none of them.
func NewData(b []byte) Data {
	if utf8.Valid(b) {
		return Data{Text: string(b)}
	}
	return Data{Base64: base64.StdEncoding.EncodeToString(b)}
}

// Bytes takes them out again.
func (d Data) Bytes() ([]byte, error) {
	switch {
	case d.Base64 == "":
		return []byte(d.Text), nil
	case d.Text != "":
		return nil, errors.New("give either text or base64, not both")
	}
	b, err := base64.StdEncoding.DecodeString(d.Base64)
	if err != nil {
		return nil, fmt.Errorf("this is not base64: %w", err)
	}
	return b, nil
}
