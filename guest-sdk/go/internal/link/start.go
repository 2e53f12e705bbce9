package link

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
)

// What is exported for the start of a plugin.
const (
	// The start itself, by the Go compiler.
	initialize = "_initialize"
	// By package abi: what may be done before the first call, and a random number of the runtime.
	prepare = "oarlock:go/prepare"
	random  = "oarlock:go/random"
	// By preview1.wat: the global with the address of the runtime's random numbers.
	randomState = "random_state"
)

// unexported is what no component exports.
var unexported = map[string]bool{prepare: true, random: true, randomState: true}

// started is the module as it is after its start: the runtime and the init functions have run. What an instance must not share with
// others (the clock, random numbers, answers of the host) ends it with an error that says what it was. The same module with the same seed
// becomes the same one.
func started(m *module, seed [32]byte) (*module, error) {
	initial, ok := m.exported(initialize, kindFunction)
	if !ok {
		return nil, errors.New("it has no " + initialize)
	}
	numbers, seeds, ticks := rand.NewChaCha8(seed), 4, uint64(0)
	machine, err := newMachine(m, func(entry importEntry) func([]uint64) uint64 {
		switch entry.module + " " + entry.name {
		case "wasi:random/random@0.2.0 get-random-u64":
			return func([]uint64) uint64 {
				// The runtime's own seed, which each instance gets anew.
				if seeds--; seeds < 0 {
					stop("it draws random numbers")
				}
				return numbers.Uint64()
			}
		case "wasi:clocks/monotonic-clock@0.2.0 now":
			return func([]uint64) uint64 {
				ticks++
				return ticks
			}
		}
		return func([]uint64) uint64 {
			stop("it calls %s of %s", entry.name, entry.module)
			return 0
		}
	})
	if err != nil {
		return nil, err
	}
	if _, err := machine.run(initial); err != nil {
		return nil, err
	}
	if number, ok := m.exported(prepare, kindFunction); ok {
		if _, err := machine.run(number); err != nil {
			return nil, err
		}
	}
	if err := machine.findRandomState(m, seed); err != nil {
		return nil, err
	}
	return machine.snapshot(m), nil
}

// The state of a chacha8rand.State of the runtime: 32 numbers, the seed, and in 32 bits which number is next, how many there are, and a
// counter.
const (
	seedAt    = 32 * 8
	nextAt    = seedAt + 32
	countAt   = nextAt + 4
	counterAt = countAt + 4
)

// findRandomState finds where the runtime keeps what its random numbers are made of, by the number it gave last, and has preview1.wat give
// each instance a seed of its own.
func (m *machine) findRandomState(of *module, seed [32]byte) error {
	number, ok := of.exported(random, kindFunction)
	where, known := of.exported(randomState, kindGlobal)
	if !ok || !known {
		return errors.New("it does not say where its random numbers come from")
	}
	given, err := m.run(number)
	if err != nil {
		return err
	}
	little := binary.LittleEndian
	for at := 0; at+counterAt+4 <= len(m.memory); at += 8 {
		next := little.Uint32(m.memory[at+nextAt:])
		if next == 0 || next > 32 || little.Uint32(m.memory[at+countAt:]) > 32 || little.Uint64(m.memory[at+8*int(next-1):]) != given {
			continue
		}
		// With another seed there must come the numbers of that one.
		before := append([]byte(nil), m.memory[at:at+counterAt+4]...)
		copy(m.memory[at+seedAt:], seed[:])
		little.PutUint32(m.memory[at+nextAt:], 32)
		little.PutUint32(m.memory[at+countAt:], 32)
		little.PutUint32(m.memory[at+counterAt:], 0)
		again, err := m.run(number)
		if err != nil {
			return err
		}
		numbers := rand.NewChaCha8(seed)
		for range 32 {
			numbers.Uint64()
		}
		if again == numbers.Uint64() {
			m.globals[where] = uint64(at)
			return nil
		}
		copy(m.memory[at:], before)
	}
	return errors.New("its random numbers are made in a way that the SDK does not know")
}

// Fewer zeros than this between two pieces of memory are written with them.
const fewZeros = 64

// snapshot is the module with the memory and the globals as they are.
func (m *machine) snapshot(of *module) *module {
	made := *of
	made.plain = map[byte][]byte{sectionTable: of.plain[sectionTable]}
	pages := uint32(len(m.memory) / page)
	made.plain[sectionMemory] = appendU32([]byte{1, 0}, pages)
	if m.most < mostMemory/page {
		made.plain[sectionMemory] = appendU32(appendU32([]byte{1, 1}, pages), uint32(m.most))
	}
	var data [][]byte
	for at := 0; at < len(m.memory); {
		if m.memory[at] == 0 {
			at++
			continue
		}
		end, zeros := at+1, 0
		for next := end; next < len(m.memory) && zeros < fewZeros; next++ {
			if zeros++; m.memory[next] != 0 {
				end, zeros = next+1, 0
			}
		}
		one := append(appendSigned([]byte{0, 0x41}, int64(int32(at))), opEnd)
		data = append(data, appendBytes(one, m.memory[at:end]))
		at = end
	}
	made.plain[sectionData] = join(data)
	made.globals = nil
	for i, global := range of.globals {
		value := m.globals[i]
		one := []byte{global[0], global[1]}
		switch global[0] {
		case 0x7f:
			one = appendSigned(append(one, 0x41), int64(int32(value)))
		case 0x7e:
			one = appendSigned(append(one, 0x42), int64(value))
		case 0x7d:
			one = binary.LittleEndian.AppendUint32(append(one, 0x43), uint32(value))
		default:
			one = binary.LittleEndian.AppendUint64(append(one, 0x44), value)
		}
		made.globals = append(made.globals, append(one, opEnd))
	}
	return &made
}

// appendSigned writes a number with a sign.
func appendSigned(to []byte, value int64) []byte {
	for {
		one := byte(value & 0x7f)
		value >>= 7
		if value == 0 && one&0x40 == 0 || value == -1 && one&0x40 != 0 {
			return append(to, one)
		}
		to = append(to, one|0x80)
	}
}
