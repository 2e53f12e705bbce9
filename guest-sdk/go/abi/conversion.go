//go:build wasip1

package abi

import (
	"strings"
	"unsafe"
)

// Component says whether this is one.
const Component = true

var converter Converter

// ExportConverter makes convert what the component exports. Called once, while the program starts.
func ExportConverter(convert Converter) { converter = convert }

// Converts says whether the component exports a converter.
func Converts() bool { return converter != nil }

// Convert answers the host, which handed over two texts. The function that is exported is in package conversion: a component has it only
// when its plugin imports that package.
func Convert(object *byte, objectLength uint32, desired *byte, desiredLength uint32) unsafe.Pointer {
	wake()
	given, version := strings.Clone(unsafe.String(object, objectLength)), strings.Clone(unsafe.String(desired, desiredLength))
	release()
	converted, err := converter(given, version)
	answer = newBlock(12)
	if err != nil {
		answer.u8(0, 1)
		converted = err.Error()
	}
	answer.text(4, converted)
	return answer.pointer()
}
