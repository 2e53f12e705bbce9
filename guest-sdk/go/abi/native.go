//go:build !wasip1

package abi

// current is the host that a test lends.
var current Host

// Component says whether this is one.
const Component = false

// Converts is for components.
func Converts() bool { return false }

// ExportConverter does nothing outside a component.
func ExportConverter(Converter) {}

// Export does nothing outside a component.
func Export(Plugin) {}

// Prepare does nothing outside a component.
func Prepare(func()) {}

// Trap ends the call of a component.
func Trap() {}

// Current is the host that is lent. Nil: nobody lends one.
func Current() Host { return current }

// Lend makes host the one that is lent, and answers the one before.
func Lend(host Host) Host {
	before := current
	current = host
	return before
}
