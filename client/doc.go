// Package client is the HTTP API of a profile's gateway for programs in Go: what is sent and answered, as types, and a
// client that sends it.
//
// The gateway itself answers with these types, so that there is one description of them. It is public: a field that is
// there stays there, and means what it meant.
package client
