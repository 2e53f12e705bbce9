package link

import (
	"bytes"
	"strings"
	"testing"
)

// A module as the Go compiler makes them, but small: it imports what preview1.wat has and something else, and calls both.
func program() *module {
	function := func(parameters, results string) []byte {
		return append(appendBytes([]byte{0x60}, []byte(parameters)), appendBytes(nil, []byte(results))...)
	}
	const i32 = "\x7f"
	return &module{
		types: [][]byte{function("", i32), function("", ""), function(i32+i32+i32+i32, i32)},
		imports: []importEntry{
			{module: "wasi_snapshot_preview1", name: "sched_yield", typeIndex: 0},
			{module: "oarlock:reconciler/config@0.1.0", name: "keys", typeIndex: 1},
			{module: "oarlock:go", name: "trap", typeIndex: 1},
		},
		functions: []uint32{2, 1},
		// A global, an import and a function of its own are named; so is a constant that looks like a call.
		bodies: [][]byte{
			{0, 0x41, 0x10, 0x0b},
			{0, 0x10, 0x00, 0x1a, 0x10, 0x01, 0x10, 0x02, 0x10, 0x04, 0x23, 0x00, 0x1a, 0x0b},
		},
		globals:  [][]byte{{0x7f, 0, 0x41, 7, 0x0b}},
		exports:  []exportEntry{{"memory", kindMemory, 0}, {"cabi_realloc", kindFunction, 3}, {"run", kindFunction, 4}},
		elements: [][]byte{{0, 0x41, 0, 0x0b, 2, 4, 0}},
		plain:    map[byte][]byte{sectionMemory: {1, 0, 1}, sectionTable: {1, 0x70, 0, 2}},
	}
}

func TestAModuleIsReadAsItWasWritten(t *testing.T) {
	for name, file := range map[string][]byte{"small": program().write(nil), "preview1": preview1} {
		read, err := parse(file)
		if err != nil {
			t.Fatal(name, err)
		}
		if !bytes.Equal(read.write(nil), file[:len(read.write(nil))]) {
			t.Errorf("%s is another one", name)
		}
	}
}

func TestCallsLeadWhereTheyShould(t *testing.T) {
	linked, _, err := Component(program().write(nil))
	if err != nil {
		t.Fatal(err)
	}
	m, err := parse(linked)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range m.imports {
		if provided[entry.module] || entry.module == compiled {
			t.Errorf("%s %s is still imported", entry.module, entry.name)
		}
	}
	imported := uint32(len(m.importedFunctions()))
	besides, _ := parse(preview1)
	own := func(name string) byte {
		index, _ := besides.exported(name, kindFunction)
		return byte(imported + 2 + index - uint32(len(besides.importedFunctions())))
	}
	run, ok := m.exported("run", kindFunction)
	if !ok || run != imported+1 {
		t.Fatalf("run is %d", run)
	}
	want := []byte{0, 0x10, own("sched_yield"), 0x1a, 0x10, 0, 0x10, own("trap"), 0x10, byte(run), 0x23, 0, 0x1a, 0x0b}
	if !bytes.Equal(m.bodies[1], want) {
		t.Errorf("%x, want %x", m.bodies[1], want)
	}
	if !bytes.Equal(m.bodies[0], []byte{0, 0x41, 0x10, 0x0b}) {
		t.Errorf("a constant was changed: %x", m.bodies[0])
	}
	if !bytes.Equal(m.elements[0], []byte{0, 0x41, 0, 0x0b, 2, byte(run), own("sched_yield")}) {
		t.Errorf("elements: %x", m.elements[0])
	}
	// The host allocates from lent memory; Go's function is behind it.
	if index, _ := m.exported("cabi_realloc", kindFunction); byte(index) != own("cabi_realloc") {
		t.Errorf("cabi_realloc is %d", index)
	}
	if !bytes.Contains(linked, componentType) {
		t.Error("no component type")
	}
}

func TestAPluginThatConvertsHasAWorldOfItsOwn(t *testing.T) {
	m := program()
	m.exports = append(m.exports, exportEntry{convert, kindFunction, 4})
	linked, _, err := Component(m.write(nil))
	if err != nil || !bytes.Contains(linked, convertingComponentType) || bytes.Contains(linked, componentType) {
		t.Error("not the component type of a plugin that converts", err)
	}
}

func TestWhatCannotBeLinkedIsTold(t *testing.T) {
	for reason, change := range map[string]func(*module){
		"wasi_snapshot_preview1 tee: the SDK has none":    func(m *module) { m.imports[0].name = "tee" },
		"sched_yield: the function is of another type":    func(m *module) { m.imports[0].typeIndex = 1 },
		"does not import oarlock.dev/oarlock":             func(m *module) { m.exports = m.exports[:1] },
		"an instruction that the SDK does not know: 0xfd": func(m *module) { m.bodies[0] = []byte{0, 0xfd, 0x0b} },
		"code names number 99 of":                         func(m *module) { m.bodies[0] = []byte{0, 0x10, 99, 0x0b} },
		"a block whose type the SDK does not know":        func(m *module) { m.bodies[0] = []byte{0, 0x02, 0x00, 0x0b, 0x0b} },
		"elements that are written in a way":              func(m *module) { m.elements[0] = []byte{1, 0, 0} },
	} {
		m := program()
		change(m)
		if _, _, err := Component(m.write(nil)); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v", reason, err)
		}
	}
	whole := program().write(nil)
	for _, file := range [][]byte{nil, []byte("hello"), []byte("\x00asm\x0d\x00\x01\x00"), whole[:len(whole)-1], whole[:len(whole)/2]} {
		if _, _, err := Component(file); err == nil {
			t.Errorf("%d bytes were linked", len(file))
		}
	}
}
