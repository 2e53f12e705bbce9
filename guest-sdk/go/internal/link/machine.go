package link

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// machine runs a module while a plugin is built. It knows what the Go compiler and preview1.wat use of WebAssembly; anything else ends it
// with an error.
type machine struct {
	functions []function
	types     []signature
	globals   []uint64
	// Numbers of functions; -1: none.
	table  []int
	memory []byte
	most   int
	stack  []uint64
	labels []label
	// Instructions that may still run.
	left int
}

// A signature is how many values a function takes and leaves.
type signature struct{ parameters, results int }

type function struct {
	signature
	of uint32
	// Of an import: what it does instead.
	host func(arguments []uint64) uint64
	body []byte
	// Made of the body when it is called first.
	code   []instruction
	locals int
}

// instruction has what follows an operation: a is a number, or where a block goes on; b a constant, an offset, or where else is.
type instruction struct {
	op uint16
	a  uint32
	b  uint64
	// Of br_table.
	targets []uint32
}

// label is a block that is open: where a branch to it goes on, and what it leaves on the stack.
type label struct {
	next   int
	height int
	leaves int
	loop   bool
}

// stopped ends a run.
type stopped struct{ error }

func stop(format string, arguments ...any) { panic(stopped{fmt.Errorf(format, arguments...)}) }

// How many instructions may run, values lie on the stack, and bytes memory has.
const (
	mostInstructions = 2_000_000_000
	mostValues       = 1 << 20
	mostMemory       = 1 << 30
	page             = 1 << 16
)

// newMachine has the memory, globals and table that an instance of the module begins with. imported is what an import does.
func newMachine(m *module, imported func(importEntry) func([]uint64) uint64) (*machine, error) {
	made := &machine{stack: make([]uint64, mostValues), left: mostInstructions}
	for _, of := range m.types {
		r := &reader{bytes: of, at: 1}
		made.types = append(made.types, signature{len(r.take(r.u32())), len(r.take(r.u32()))})
	}
	for _, entry := range m.importedFunctions() {
		made.functions = append(made.functions, function{signature: made.types[entry.typeIndex], of: entry.typeIndex, host: imported(entry)})
	}
	for i, of := range m.functions {
		made.functions = append(made.functions, function{signature: made.types[of], of: of, body: m.bodies[i]})
	}
	for _, global := range m.globals {
		made.globals = append(made.globals, constantOf(&reader{bytes: global, at: 2}))
	}
	r := &reader{bytes: m.plain[sectionTable]}
	if len(r.bytes) > 0 {
		r.u32()
		r.take(2)
		made.table = make([]int, r.u32())
		for i := range made.table {
			made.table[i] = -1
		}
	}
	for _, element := range m.elements {
		r := &reader{bytes: element, at: 1}
		at := constantOf(r)
		r.each(func() {
			made.table[at] = int(r.u32())
			at++
		})
	}
	r = &reader{bytes: m.plain[sectionMemory]}
	r.u32()
	made.most = mostMemory / page
	limited := r.byte()&1 != 0
	made.memory = make([]byte, int(r.u32())*page)
	if limited {
		made.most = min(made.most, int(r.u32()))
	}
	r = &reader{bytes: m.plain[sectionData]}
	if len(r.bytes) > 0 {
		r.each(func() {
			if r.u32() != 0 {
				r.fail(errors.New("data that is written in a way the SDK does not know"))
				return
			}
			at := constantOf(r)
			copy(made.memory[at:], r.take(r.u32()))
		})
	}
	return made, r.err
}

// constantOf reads a constant expression of one number.
func constantOf(r *reader) uint64 {
	var value uint64
	switch op := r.byte(); op {
	case 0x41:
		value = uint64(uint32(r.signed()))
	case 0x42:
		value = uint64(r.signed())
	case 0x43:
		value = uint64(binary.LittleEndian.Uint32(r.take(4)))
	case 0x44:
		value = binary.LittleEndian.Uint64(r.take(8))
	default:
		r.fail(fmt.Errorf("a constant that the SDK does not know: %#x", op))
	}
	r.byte()
	return value
}

// signed reads a number with a sign.
func (r *reader) signed() int64 {
	var value int64
	for shift := 0; ; shift += 7 {
		one := r.byte()
		value |= int64(one&0x7f) << shift
		if one < 0x80 {
			if shift+7 < 64 && one&0x40 != 0 {
				value |= -1 << (shift + 7)
			}
			return value
		}
	}
}

// run calls a function, and returns what it returns. What ends it early is an error.
func (m *machine) run(number uint32, arguments ...uint64) (result uint64, err error) {
	defer func() {
		switch reason := recover().(type) {
		case nil:
		case stopped:
			err = reason.error
		case error:
			// Of memory that is not there, say.
			err = reason
		default:
			panic(reason)
		}
	}()
	m.labels = m.labels[:0]
	copy(m.stack, arguments)
	if m.call(number, len(arguments)) == 1 {
		result = m.stack[0]
	}
	return result, nil
}

// call calls the function with this number, whose arguments are the last of the stack's values; it answers how many values there are then.
func (m *machine) call(number uint32, height int) int {
	f := &m.functions[number]
	base := height - f.parameters
	if f.host != nil {
		result := f.host(m.stack[base:height])
		m.stack[base] = result
		return base + f.results
	}
	if f.code == nil {
		f.compile()
	}
	clear(m.stack[height : height+f.locals])
	first := len(m.labels)
	m.labels = append(m.labels, label{next: len(f.code), height: height + f.locals, leaves: f.results})
	height = m.execute(f, base, height+f.locals)
	m.labels = m.labels[:first]
	copy(m.stack[base:], m.stack[height-f.results:height])
	return base + f.results
}

// compile reads the instructions of a body, and finds where its blocks end.
func (f *function) compile() {
	r := &reader{bytes: f.body}
	r.each(func() {
		f.locals += int(r.u32())
		r.byte()
	})
	var open []int
	for r.at < len(r.bytes) && r.err == nil {
		at := len(f.code)
		op := r.byte()
		one := instruction{op: uint16(op)}
		switch {
		case op == opBlock, op == opLoop, op == opIf:
			if r.byte() != 0x40 {
				one.b = 1
			}
			open = append(open, at)
		case op == opElse:
			f.code[open[len(open)-1]].targets = []uint32{uint32(at + 1)}
			one.b = uint64(open[len(open)-1])
		case op == opEnd:
			if len(open) > 0 {
				f.code[open[len(open)-1]].a = uint32(at)
				open = open[:len(open)-1]
			}
		case op == 0x0e:
			r.each(func() { one.targets = append(one.targets, r.u32()) })
			one.a = r.u32()
		case op == opCallIndir:
			one.a = r.u32()
			r.u32()
		case op == opCall, op == 0x0c, op == 0x0d, op >= 0x20 && op <= 0x24, op == 0x3f, op == 0x40:
			one.a = r.u32()
		case op >= 0x28 && op <= 0x3e:
			r.u32()
			one.b = uint64(r.u32())
		case op == 0x41:
			one.b = uint64(uint32(r.signed()))
		case op == 0x42:
			one.b = uint64(r.signed())
		case op == 0x43:
			one.b = uint64(binary.LittleEndian.Uint32(r.take(4)))
		case op == 0x44:
			one.b = binary.LittleEndian.Uint64(r.take(8))
		case op == opMiscPrefix:
			which := r.u32()
			one.op = opMisc + uint16(which)
			switch which {
			case 10:
				r.take(2)
			case 11:
				r.take(1)
			}
		case op <= 0x01, op == 0x0f, op == 0x1a, op == 0x1b, op >= 0x45 && op <= 0xc4:
		default:
			stop("the SDK does not know the instruction %#x", op)
		}
		f.code = append(f.code, one)
	}
	if r.err != nil {
		stop("code that the SDK cannot read: %w", r.err)
	}
}
