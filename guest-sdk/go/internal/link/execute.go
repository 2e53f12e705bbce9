package link

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// execute runs the code of a function whose first local is stack[base]; height is how many values there are. It answers how many there are
// in the end.
func (m *machine) execute(f *function, base, height int) int {
	stack, code := m.stack, f.code
	first := len(m.labels) - 1
	for at := 0; at < len(code); {
		one := &code[at]
		at++
		if m.left--; m.left < 0 {
			stop("it runs for too long")
		}
		if height > len(stack)-64 {
			stop("it recurses too deeply")
		}
		switch op := one.op; {
		case op >= 0x45 && op <= 0xc4:
			if isUnary(op) {
				stack[height-1] = unary(op, stack[height-1])
			} else {
				height--
				stack[height-1] = binaryOf(op, stack[height-1], stack[height])
			}
		case op == 0x20:
			stack[height] = stack[base+int(one.a)]
			height++
		case op == 0x21:
			height--
			stack[base+int(one.a)] = stack[height]
		case op == 0x22:
			stack[base+int(one.a)] = stack[height-1]
		case op == opGlobalGet:
			stack[height] = m.globals[one.a]
			height++
		case op == opGlobalSet:
			height--
			m.globals[one.a] = stack[height]
		case op >= 0x41 && op <= 0x44:
			stack[height] = one.b
			height++
		case op >= 0x28 && op <= 0x35:
			stack[height-1] = load(op, m.memory[stack[height-1]+one.b:])
		case op >= 0x36 && op <= 0x3e:
			height -= 2
			store(op, m.memory[stack[height]+one.b:], stack[height+1])
		case op == opBlock:
			m.labels = append(m.labels, label{next: int(one.a) + 1, height: height, leaves: int(one.b)})
		case op == opLoop:
			m.labels = append(m.labels, label{next: at, height: height, loop: true})
		case op == opIf:
			height--
			if stack[height] != 0 {
				m.labels = append(m.labels, label{next: int(one.a) + 1, height: height, leaves: int(one.b)})
			} else if one.targets != nil {
				m.labels = append(m.labels, label{next: int(one.a) + 1, height: height, leaves: int(one.b)})
				at = int(one.targets[0])
			} else {
				at = int(one.a) + 1
			}
		case op == opElse:
			// The end of what is done if: the label is taken away there.
			at = int(code[one.b].a)
		case op == opEnd:
			if len(m.labels)-1 > first {
				m.labels = m.labels[:len(m.labels)-1]
			}
		case op == 0x0c:
			at, height = m.branch(one.a, height)
		case op == 0x0d:
			height--
			if stack[height] != 0 {
				at, height = m.branch(one.a, height)
			}
		case op == 0x0e:
			height--
			to := one.a
			if number := stack[height]; number < uint64(len(one.targets)) {
				to = one.targets[number]
			}
			at, height = m.branch(to, height)
		case op == 0x0f:
			return height
		case op == opCall:
			height = m.call(one.a, height)
		case op == opCallIndir:
			height--
			number := stack[height]
			if number >= uint64(len(m.table)) || m.table[number] < 0 || m.functions[m.table[number]].signature != m.types[one.a] {
				stop("it calls what is no function")
			}
			height = m.call(uint32(m.table[number]), height)
		case op == 0x1a:
			height--
		case op == 0x1b:
			height -= 2
			if stack[height+1] == 0 {
				stack[height-1] = stack[height]
			}
		case op == 0x3f:
			stack[height] = uint64(len(m.memory) / page)
			height++
		case op == 0x40:
			stack[height-1] = m.grow(stack[height-1])
		case op >= opMisc && op <= opMisc+7:
			stack[height-1] = saturated(op-opMisc, stack[height-1])
		case op == opMisc+10:
			height -= 3
			to, from, length := stack[height], stack[height+1], stack[height+2]
			copy(m.memory[to:to+length], m.memory[from:from+length])
		case op == opMisc+11:
			height -= 3
			part := m.memory[stack[height]:][:stack[height+2]]
			for i := range part {
				part[i] = byte(stack[height+1])
			}
		case op == 0x01:
		case op == 0x00:
			stop("it ends with a trap")
		default:
			stop("the SDK does not know the instruction %#x", op)
		}
	}
	return height
}

// branch goes to an open block, counted from the innermost.
func (m *machine) branch(to uint32, height int) (next, left int) {
	at := len(m.labels) - 1 - int(to)
	l := m.labels[at]
	copy(m.stack[l.height:], m.stack[height-l.leaves:height])
	m.labels = m.labels[:at]
	if l.loop {
		m.labels = m.labels[:at+1]
	}
	return l.next, l.height + l.leaves
}

// grow makes memory larger by so many pages, and answers how many it had; -1: it cannot.
func (m *machine) grow(pages uint64) uint64 {
	had := len(m.memory) / page
	if had+int(pages) > m.most {
		return 1<<32 - 1
	}
	m.memory = append(m.memory, make([]byte, int(pages)*page)...)
	return uint64(had)
}

func load(op uint16, from []byte) uint64 {
	little := binary.LittleEndian
	switch op {
	case 0x28, 0x2a, 0x35:
		return uint64(little.Uint32(from))
	case 0x29, 0x2b:
		return little.Uint64(from)
	case 0x2c:
		return uint64(uint32(int8(from[0])))
	case 0x2d, 0x31:
		return uint64(from[0])
	case 0x2e:
		return uint64(uint32(int16(little.Uint16(from))))
	case 0x2f, 0x33:
		return uint64(little.Uint16(from))
	case 0x30:
		return uint64(int8(from[0]))
	case 0x32:
		return uint64(int16(little.Uint16(from)))
	default:
		return uint64(int32(little.Uint32(from)))
	}
}

func store(op uint16, to []byte, value uint64) {
	switch op {
	case 0x36, 0x38, 0x3e:
		binary.LittleEndian.PutUint32(to, uint32(value))
	case 0x37, 0x39:
		binary.LittleEndian.PutUint64(to, value)
	case 0x3a, 0x3c:
		to[0] = byte(value)
	default:
		binary.LittleEndian.PutUint16(to, uint16(value))
	}
}

func truth(holds bool) uint64 {
	if holds {
		return 1
	}
	return 0
}

func single(value uint64) float32 { return math.Float32frombits(uint32(value)) }
func double(value uint64) float64 { return math.Float64frombits(value) }
func ofSingle(f float32) uint64   { return uint64(math.Float32bits(f)) }
func ofDouble(f float64) uint64   { return math.Float64bits(f) }

func isUnary(op uint16) bool {
	return op == 0x45 || op == 0x50 || op >= 0x67 && op <= 0x69 || op >= 0x79 && op <= 0x7b || op >= 0x8b && op <= 0x91 ||
		op >= 0x99 && op <= 0x9f || op >= 0xa7
}

func unary(op uint16, a uint64) uint64 {
	switch op {
	case 0x45, 0x50:
		return truth(a == 0)
	case 0x67:
		return uint64(bits.LeadingZeros32(uint32(a)))
	case 0x68:
		return uint64(bits.TrailingZeros32(uint32(a)))
	case 0x69, 0x7b:
		return uint64(bits.OnesCount64(a))
	case 0x79:
		return uint64(bits.LeadingZeros64(a))
	case 0x7a:
		return uint64(bits.TrailingZeros64(a))
	case 0x8b:
		return a &^ (1 << 31)
	case 0x8c:
		return a ^ 1<<31
	case 0x99:
		return a &^ (1 << 63)
	case 0x9a:
		return a ^ 1<<63
	case 0x8d, 0x8e, 0x8f, 0x90, 0x91:
		return ofSingle(float32(rounded(op-0x8d, float64(single(a)))))
	case 0x9b, 0x9c, 0x9d, 0x9e, 0x9f:
		return ofDouble(rounded(op-0x9b, double(a)))
	case 0xa7, 0xad:
		return uint64(uint32(a))
	case 0xac, 0xc4:
		return uint64(int32(a))
	case 0xb2:
		return ofSingle(float32(int32(a)))
	case 0xb3:
		return ofSingle(float32(uint32(a)))
	case 0xb4:
		return ofSingle(float32(int64(a)))
	case 0xb5:
		return ofSingle(float32(a))
	case 0xb6:
		return ofSingle(float32(double(a)))
	case 0xb7:
		return ofDouble(float64(int32(a)))
	case 0xb8:
		return ofDouble(float64(uint32(a)))
	case 0xb9:
		return ofDouble(float64(int64(a)))
	case 0xba:
		return ofDouble(float64(a))
	case 0xbb:
		return ofDouble(float64(single(a)))
	case 0xbc, 0xbd, 0xbe, 0xbf:
		return a
	case 0xc0:
		return uint64(uint32(int8(a)))
	case 0xc1:
		return uint64(uint32(int16(a)))
	case 0xc2:
		return uint64(int8(a))
	case 0xc3:
		return uint64(int16(a))
	}
	// Conversions that trap: Go uses those that do not.
	stop("the SDK does not know the instruction %#x", op)
	return 0
}

func rounded(how uint16, f float64) float64 {
	switch how {
	case 0:
		return math.Ceil(f)
	case 1:
		return math.Floor(f)
	case 2:
		return math.Trunc(f)
	case 3:
		return math.RoundToEven(f)
	}
	return math.Sqrt(f)
}

func binaryOf(op uint16, a, b uint64) uint64 {
	switch {
	case op <= 0x4f:
		return truth(compared(op-0x46, a, b, int64(int32(a)), int64(int32(b))))
	case op <= 0x5a:
		return truth(compared(op-0x51, a, b, int64(a), int64(b)))
	case op <= 0x60:
		return truth(comparedFloats(op-0x5b, float64(single(a)), float64(single(b))))
	case op <= 0x66:
		return truth(comparedFloats(op-0x61, double(a), double(b)))
	case op <= 0x78:
		return uint64(uint32(integer(op-0x6a, a, b, int64(int32(a)), int64(int32(b)), 32)))
	case op <= 0x8a:
		return integer(op-0x7c, a, b, int64(a), int64(b), 64)
	case op == 0x98:
		return ofSingle(float32(math.Copysign(float64(single(a)), float64(single(b)))))
	case op <= 0x97:
		return ofSingle(float32(float(op-0x92, float64(single(a)), float64(single(b)))))
	}
	return ofDouble(float(op-0xa0, double(a), double(b)))
}

func compared(how uint16, a, b uint64, signedA, signedB int64) bool {
	switch how {
	case 0:
		return a == b
	case 1:
		return a != b
	case 2:
		return signedA < signedB
	case 3:
		return a < b
	case 4:
		return signedA > signedB
	case 5:
		return a > b
	case 6:
		return signedA <= signedB
	case 7:
		return a <= b
	case 8:
		return signedA >= signedB
	}
	return a >= b
}

func comparedFloats(how uint16, a, b float64) bool {
	switch how {
	case 0:
		return a == b
	case 1:
		return a != b
	case 2:
		return a < b
	case 3:
		return a > b
	case 4:
		return a <= b
	}
	return a >= b
}

// integer is an operation on numbers of so many bits: without a sign, and with one.
func integer(how uint16, a, b uint64, signedA, signedB int64, size int) uint64 {
	by := b & uint64(size-1)
	if b == 0 && how >= 3 && how <= 6 {
		stop("it divides by zero")
	}
	switch how {
	case 0:
		return a + b
	case 1:
		return a - b
	case 2:
		return a * b
	case 3:
		return uint64(signedA / signedB)
	case 4:
		return a / b
	case 5:
		return uint64(signedA % signedB)
	case 6:
		return a % b
	case 7:
		return a & b
	case 8:
		return a | b
	case 9:
		return a ^ b
	case 10:
		return a << by
	case 11:
		return uint64(signedA >> by)
	case 12:
		return a >> by
	case 13:
		if size == 32 {
			return uint64(bits.RotateLeft32(uint32(a), int(by)))
		}
		return bits.RotateLeft64(a, int(by))
	}
	if size == 32 {
		return uint64(bits.RotateLeft32(uint32(a), -int(by)))
	}
	return bits.RotateLeft64(a, -int(by))
}

func float(how uint16, a, b float64) float64 {
	switch how {
	case 0:
		return a + b
	case 1:
		return a - b
	case 2:
		return a * b
	case 3:
		return a / b
	case 4:
		return min(a, b)
	case 5:
		return max(a, b)
	}
	return math.Copysign(a, b)
}

// saturated is a floating-point number as the nearest integer of a type.
func saturated(how uint16, a uint64) uint64 {
	f := double(a)
	if how&2 == 0 {
		f = float64(single(a))
	}
	f = math.Trunc(f)
	within := func(least, most float64, ofLeast, ofMost uint64, of func() uint64) uint64 {
		switch {
		case f != f:
			return 0
		case f < least:
			return ofLeast
		case f >= most:
			return ofMost
		}
		return of()
	}
	switch {
	case how&5 == 0:
		return within(-1<<31, 1<<31, 1<<31, 1<<31-1, func() uint64 { return uint64(uint32(int32(f))) })
	case how&5 == 1:
		return within(0, 1<<32, 0, 1<<32-1, func() uint64 { return uint64(uint32(f)) })
	case how&5 == 4:
		return within(-1<<63, 1<<63, 1<<63, 1<<63-1, func() uint64 { return uint64(int64(f)) })
	}
	return within(0, 1<<64, 0, 1<<64-1, func() uint64 { return uint64(f) })
}
