//go:build wasip1

package abi

import (
	"strings"
	"unsafe"
)

// memory is what the host wrote from an address on. Addresses have 32 bits in the contract and 64 in Go.
type memory struct{ at unsafe.Pointer }

func (m memory) u8(offset int) byte    { return *(*byte)(unsafe.Add(m.at, offset)) }
func (m memory) u16(offset int) uint16 { return *(*uint16)(unsafe.Add(m.at, offset)) }
func (m memory) u32(offset int) uint32 { return *(*uint32)(unsafe.Add(m.at, offset)) }
func (m memory) u64(offset int) uint64 { return *(*uint64)(unsafe.Add(m.at, offset)) }
func (m memory) address(offset int) *byte {
	at := uintptr(m.u32(offset))
	return *(**byte)(unsafe.Pointer(&at))
}

// text copies a string.
func (m memory) text(offset int) string {
	length := m.u32(offset + 4)
	if length == 0 {
		return ""
	}
	return strings.Clone(unsafe.String(m.address(offset), length))
}

func (m memory) option(offset int) *string {
	if m.u8(offset) == 0 {
		return nil
	}
	text := m.text(offset + 4)
	return &text
}

// bytes copies a list of bytes.
func (m memory) bytes(offset int) []byte {
	return []byte(m.text(offset))
}

// list is where a list begins, and how many elements it has.
func (m memory) list(offset int) (memory, int) {
	return memory{unsafe.Pointer(m.address(offset))}, int(m.u32(offset + 4))
}

func (m memory) texts(offset int) []string {
	at, count := m.list(offset)
	found := make([]string, 0, count)
	for i := range count {
		found = append(found, at.text(i*8))
	}
	return found
}

// block is memory for the host to read, or to write to. It keeps what its addresses lead to: to Go they are numbers.
type block struct {
	words []uint64
	texts []string
	parts []*block
}

func newBlock(size int) *block { return &block{words: make([]uint64, size/8+1)} }

func (b *block) pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b.words)) }
func (b *block) memory() memory          { return memory{b.pointer()} }

func (b *block) u8(at int, value byte)    { *(*byte)(unsafe.Add(b.pointer(), at)) = value }
func (b *block) u16(at int, value uint16) { *(*uint16)(unsafe.Add(b.pointer(), at)) = value }
func (b *block) u32(at int, value uint32) { *(*uint32)(unsafe.Add(b.pointer(), at)) = value }

func (b *block) boolean(at int, value bool) {
	if value {
		b.u8(at, 1)
	}
}

func (b *block) text(at int, text string) {
	b.texts = append(b.texts, text)
	b.u32(at, uint32(uintptr(unsafe.Pointer(unsafe.StringData(text)))))
	b.u32(at+4, uint32(len(text)))
}

func (b *block) option(at int, text *string) {
	if text != nil {
		b.u8(at, 1)
		b.text(at+4, *text)
	}
}

func (b *block) optionU64(at int, value *uint64) {
	if value != nil {
		b.u8(at, 1)
		*(*uint64)(unsafe.Add(b.pointer(), at+8)) = *value
	}
}

// list makes room for a list.
func (b *block) list(at, count, size int) *block {
	part := newBlock(count * size)
	b.parts = append(b.parts, part)
	b.u32(at, uint32(uintptr(part.pointer())))
	b.u32(at+4, uint32(count))
	return part
}
