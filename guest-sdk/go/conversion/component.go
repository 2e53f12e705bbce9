//go:build wasip1

package conversion

import (
	"unsafe"

	"oarlock.dev/oarlock/abi"
)

//go:wasmexport oarlock:reconciler/conversion@0.1.0#convert
func exportConvert(object unsafe.Pointer, objectLength uint32, desired unsafe.Pointer, desiredLength uint32) unsafe.Pointer {
	return abi.Convert((*byte)(object), objectLength, (*byte)(desired), desiredLength)
}
