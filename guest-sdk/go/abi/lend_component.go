//go:build wasip1

package abi

// Lend does nothing in a component: its host is the real one.
func Lend(Host) Host { return nil }
