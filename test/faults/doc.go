// Package faults attacks real sandboxes: it kills callers and guests, runs hostile programs inside,
// fills disks, and feeds bad input. Everything here is a test; nothing imports it.
//
// The tests run on the native engine as whoever calls them, and when that is root also as two ordinary
// users, one of them with subordinate ids. Each has a home and a run directory of its own, and fails
// when anything is left in them. The programs in attack and tree are what runs inside.
package faults
