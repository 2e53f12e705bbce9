package link

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// A program whose start writes 7 to address 300, sets its global to -2, and calls its import when it is given one.
func starting(calls bool) *module {
	m := program()
	m.plain[sectionData] = append([]byte{1, 0, 0x41, 10, 0x0b, 3}, "abc"...)
	body := []byte{0, 0x41, 0xac, 0x02, 0x41, 7, 0x3a, 0, 0, 0x41, 0x7e, 0x24, 0}
	if calls {
		body = append(body, 0x10, 1)
	}
	m.functions = append(m.functions, 1)
	m.bodies = append(m.bodies, append(body, 0x0b))
	m.globals[0][1] = 1
	m.exports = append(m.exports, exportEntry{initialize, kindFunction, 5})
	return m
}

func nothingImported(importEntry) func([]uint64) uint64 { return nil }

func TestAnInstanceBeginsWithWhatTheStartLeft(t *testing.T) {
	m, err := parse(starting(false).write(nil))
	if err != nil {
		t.Fatal(err)
	}
	ran, err := newMachine(m, nothingImported)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ran.run(5); err != nil {
		t.Fatal(err)
	}
	written, err := parse(ran.snapshot(m).write(nil))
	if err != nil {
		t.Fatal(err)
	}
	begun, err := newMachine(written, nothingImported)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]byte, page)
	copy(want[10:], "abc")
	want[300] = 7
	if !bytes.Equal(begun.memory, want) || begun.globals[0] != 0xfffffffe || len(begun.table) != 2 || begun.table[0] != 4 {
		t.Errorf("%d, %x", begun.memory[300], begun.globals)
	}
}

func TestAStartThatAsksTheHostIsLeftToEachInstance(t *testing.T) {
	plugin, unstarted, err := Component(starting(true).write(nil))
	if err != nil || unstarted == nil || !strings.Contains(unstarted.Error(), "it calls keys of oarlock:reconciler/config@0.1.0") {
		t.Fatal(unstarted, err)
	}
	m, err := parse(plugin)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := m.exported(initialize, kindFunction); !ok {
		t.Error("no instance can start it")
	}
	for name := range unexported {
		for _, entry := range m.exports {
			if entry.name == name {
				t.Errorf("%s is exported", name)
			}
		}
	}
}

func TestTheMachineRunsLoopsAndBranches(t *testing.T) {
	m := program()
	// The sum of the numbers up to the first argument, or 99 when that is 0.
	m.bodies[0] = []byte{1, 1, 0x7f,
		0x20, 0, 0x45, 0x04, 0x7f, 0x41, 0xe3, 0, 0x05,
		0x02, 0x40, 0x03, 0x40,
		0x20, 0, 0x45, 0x0d, 1,
		0x20, 4, 0x20, 0, 0x6a, 0x21, 4,
		0x20, 0, 0x41, 1, 0x6b, 0x21, 0, 0x0c, 0,
		0x0b, 0x0b, 0x20, 4, 0x0b, 0x0b}
	read, err := parse(m.write(nil))
	if err != nil {
		t.Fatal(err)
	}
	machine, err := newMachine(read, nothingImported)
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[uint64]uint64{0: 99, 1: 1, 100: 5050} {
		if got, err := machine.run(3, given, 0, 0, 0); err != nil || got != want {
			t.Errorf("of %d: %d, want %d: %v", given, got, want, err)
		}
	}
	machine.left = 50
	if _, err := machine.run(3, 100, 0, 0, 0); err == nil || err.Error() != "it runs for too long" {
		t.Error(err)
	}
}

func TestNumbersAreThoseOfWebAssembly(t *testing.T) {
	minus := func(value int32) uint64 { return uint64(uint32(-value)) }
	double, single := math.Float64bits, func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	for _, c := range []struct{ got, want uint64 }{
		{binaryOf(0x48, minus(1), 1), 1},
		{binaryOf(0x49, minus(1), 1), 0},
		{binaryOf(0x6a, minus(1), 2), 1},
		{binaryOf(0x6d, minus(7), 2), minus(3)},
		{binaryOf(0x75, minus(8), 33), minus(4)},
		{binaryOf(0x77, 0x80000001, 1), 3},
		{binaryOf(0x87, 1<<63, 63), math.MaxUint64},
		{binaryOf(0x8a, 1, 1), 1 << 63},
		{binaryOf(0x92, single(1.5), single(2)), single(3.5)},
		{binaryOf(0xa4, double(-1), double(2)), double(-1)},
		{binaryOf(0x63, double(math.NaN()), double(1)), 0},
		{unary(0x67, 1), 31},
		{unary(0x9e, double(2.5)), double(2)},
		{unary(0xac, minus(1)), math.MaxUint64},
		{unary(0xb7, minus(1)), double(-1)},
		{unary(0xc0, 0x80), minus(128)},
		{unary(0xc2, 0x80), math.MaxUint64 - 127},
		{saturated(2, double(-3.9)), minus(3)},
		{saturated(2, double(1e10)), 1<<31 - 1},
		{saturated(6, double(math.NaN())), 0},
		{saturated(7, double(-1)), 0},
		{load(0x2c, []byte{0xff}), minus(1)},
		{load(0x30, []byte{0xff}), math.MaxUint64},
	} {
		if c.got != c.want {
			t.Errorf("%#x, want %#x", c.got, c.want)
		}
	}
}
