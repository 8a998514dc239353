package client

// Problem is why a request was refused or failed, as RFC 9457 writes it down (application/problem+json). It is an
// error.
type Problem struct {
	// Type names the kind of problem for ever: "urn:hermes:problem:" and the code.
	Type   string `json:"type" jsonschema:"names the kind of problem: urn:hermes:problem: and the code"`
	Title  string `json:"title" jsonschema:"the kind of problem in words"`
	Status int    `json:"status" jsonschema:"the HTTP status"`
	// Detail says in one line what could not be done, why, and what to do.
	Detail string `json:"detail" jsonschema:"one line: what could not be done, why, and what to do"`
	Code   Code   `json:"code" jsonschema:"what a program can act on"`
}

func (p *Problem) Error() string { return p.Detail }

// Code is what a program can act on.
type Code string

// The codes.
const (
	CodeBadRequest    Code = "bad_request"
	CodeUnauthorized  Code = "unauthorized"
	CodeForeignOrigin Code = "foreign_origin"
	CodeForbidden     Code = "forbidden"
	CodeNotFound      Code = "not_found"
	CodeNoFile        Code = "no_such_file"
	CodeNoProcess     Code = "no_such_process"
	CodeNoSuchRoute   Code = "no_such_route"
	CodeWrongMethod   Code = "wrong_method"
	CodeNotAcceptable Code = "not_acceptable"
	CodeExists        Code = "exists"
	CodeBusy          Code = "busy"
	CodeDrift         Code = "drift"
	CodeKeyReused     Code = "key_reused"
	CodeUpgrade       Code = "upgrade_required"
	CodeGone          Code = "gone"
	CodeTooLarge      Code = "too_large"
	CodeBadRange      Code = "bad_range"
	CodeMediaType     Code = "media_type"
	CodeForeignHost   Code = "foreign_host"
	CodeUnprocessable Code = "unprocessable"
	CodePosture       Code = "posture"
	CodeTooMany       Code = "too_many_requests"
	CodeInternal      Code = "internal"
	CodeUnsupported   Code = "unsupported"
	CodeOverloaded    Code = "overloaded"
	CodeDraining      Code = "draining"
	CodeUnavailable   Code = "unavailable"
	CodeTimeout       Code = "timeout"
)
