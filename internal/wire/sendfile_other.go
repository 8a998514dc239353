//go:build !linux

package wire

import "errors"

// SendFile is for Linux.
func (d *DataWriter) SendFile(int, int64) (int64, error) { return 0, errors.ErrUnsupported }
