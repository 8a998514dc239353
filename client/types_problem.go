package client

// Problem is why a request was not done, as RFC 9457 has it.
type Problem struct {
	Type   string `json:"type" jsonschema:"an address that names this kind of problem"`
	Title  string `json:"title" jsonschema:"the kind of problem, in a few words"`
	Status int    `json:"status" jsonschema:"the status of the answer"`
	Detail string `json:"detail" jsonschema:"what could not be done, why, and what to do"`
	Code   string `json:"code" jsonschema:"the kind of problem, for programs"`
}
