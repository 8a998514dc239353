// Package escape tries to get out of sandboxes, in every way that is known to us,
// and keeps the record: docs/security/escapes.md.
package escape
