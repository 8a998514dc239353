// Package doorbell hands out addresses of the dashboard that log in, to who may have them: the user that the dashboard
// runs as, and root. Both could take all that it has anyway.
//
// The dashboard hangs it up; "hermes dashboard url" and "hermes up" ring. An address goes over a socket in the run
// directory and is written nowhere: neither a file nor a log has one.
package doorbell

import "errors"

// ErrNobody is for a home whose dashboard does not answer.
var ErrNobody = errors.New("no dashboard of this home answers")
