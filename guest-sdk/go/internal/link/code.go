package link

import (
	"errors"
	"fmt"
)

// Instructions with numbers in them that linking changes.
const (
	opBlock      = 0x02
	opLoop       = 0x03
	opIf         = 0x04
	opElse       = 0x05
	opEnd        = 0x0b
	opCall       = 0x10
	opCallIndir  = 0x11
	opGlobalGet  = 0x23
	opGlobalSet  = 0x24
	opRefFunc    = 0xd2
	opMiscPrefix = 0xfc
	// What follows the prefix is added to it.
	opMisc = 0x100
)

// numbers are the new numbers of what a module's code names.
type numbers struct {
	functions []uint32
	types     []uint32
	globals   []uint32
}

// renumber copies a function's body, or a constant expression, with the new numbers.
func (n *numbers) renumber(body []byte, locals bool) ([]byte, error) {
	out := &rewriter{reader: &reader{bytes: body}, numbers: n}
	if locals {
		out.each(func() {
			out.u32()
			out.byte()
		})
	}
	for out.err == nil && out.at < len(body) {
		op := out.byte()
		if err := out.immediates(op, out); err != nil {
			return nil, err
		}
	}
	out.keep()
	return out.out, out.err
}

// rewriter copies what is read, but for the numbers it changes.
type rewriter struct {
	*reader
	numbers *numbers
	out     []byte
	kept    int
}

// keep copies what was read since.
func (w *rewriter) keep() {
	w.out = append(w.out, w.bytes[w.kept:w.at]...)
	w.kept = w.at
}

// replace reads a number and writes the new one in its place.
func (w *rewriter) replace(with []uint32) {
	w.keep()
	old := w.u32()
	if w.err == nil && int(old) >= len(with) {
		w.fail(fmt.Errorf("code names number %d of %d", old, len(with)))
	}
	if w.err == nil {
		w.out = appendU32(w.out, with[old])
		w.kept = w.at
	}
}

// immediates goes over what follows an instruction, and changes numbers if there is a rewriter.
func (r *reader) immediates(op byte, w *rewriter) error {
	number := func(with func(*numbers) []uint32) {
		if w == nil {
			r.u32()
			return
		}
		w.replace(with(w.numbers))
	}
	switch {
	case op == opBlock, op == opLoop, op == opIf:
		// One byte, unless the block takes or leaves several values.
		if r.byte()&0xc0 != 0x40 {
			return errors.New("the code has a block whose type the SDK does not know")
		}
	case op == opCall, op == opRefFunc:
		number(func(n *numbers) []uint32 { return n.functions })
	case op == opCallIndir:
		number(func(n *numbers) []uint32 { return n.types })
		r.u32()
	case op == opGlobalGet, op == opGlobalSet:
		number(func(n *numbers) []uint32 { return n.globals })
	case op == 0x0c, op == 0x0d, op >= 0x20 && op <= 0x22, op == 0x25, op == 0x26, op == 0x3f, op == 0x40, op == 0xd0:
		// Branches, locals, tables, the size of the memory, no reference.
		r.u32()
	case op == 0x0e:
		r.each(func() { r.u32() })
		r.u32()
	case op == 0x1c:
		r.take(r.u32())
	case op >= 0x28 && op <= 0x3e:
		r.u32()
		r.skipLEB()
	case op == 0x41, op == 0x42:
		r.skipLEB()
	case op == 0x43:
		r.take(4)
	case op == 0x44:
		r.take(8)
	case op == opMiscPrefix:
		return r.misc()
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4, op == 0xd1:
		// Nothing follows.
	default:
		return fmt.Errorf("the code has an instruction that the SDK does not know: %#x", op)
	}
	return nil
}

// misc goes over conversions, and instructions for memory and tables.
func (r *reader) misc() error {
	switch op := r.u32(); {
	case op <= 7:
	case op == 9, op == 11, op == 13, op >= 15 && op <= 17:
		r.u32()
	case op == 8, op == 10, op == 12, op == 14:
		r.u32()
		r.u32()
	default:
		return fmt.Errorf("the code has an instruction that the SDK does not know: 0xfc %d", op)
	}
	return nil
}
