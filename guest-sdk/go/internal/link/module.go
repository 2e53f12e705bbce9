package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// Sections of a module.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

// Kinds of imports and exports.
const (
	kindFunction = 0
	kindTable    = 1
	kindMemory   = 2
	kindGlobal   = 3
)

var errShort = errors.New("it ends too early")

// importEntry is an import: of a function its type, of anything else the bytes that describe it.
type importEntry struct {
	module, name string
	kind         byte
	typeIndex    uint32
	rest         []byte
}

type exportEntry struct {
	name  string
	kind  byte
	index uint32
}

// module is a core module, as far as linking has to know it. What only the Go compiler's module has stays bytes.
type module struct {
	// Each type as it is written.
	types     [][]byte
	imports   []importEntry
	functions []uint32
	globals   [][]byte
	exports   []exportEntry
	start     *uint32
	elements  [][]byte
	bodies    [][]byte
	// Sections that are taken over as they are: tables, memories, data.
	plain map[byte][]byte
}

// parse reads a core module.
func parse(file []byte) (*module, error) {
	if !bytes.HasPrefix(file, []byte("\x00asm\x01\x00\x00\x00")) {
		return nil, errors.New("it is no core module of WebAssembly")
	}
	m := &module{plain: map[byte][]byte{}}
	r := &reader{bytes: file, at: 8}
	for r.at < len(file) && r.err == nil {
		id := r.byte()
		content := r.take(r.u32())
		if r.err != nil {
			break
		}
		if err := m.section(id, &reader{bytes: content}); err != nil {
			return nil, fmt.Errorf("section %d: %w", id, err)
		}
	}
	return m, r.err
}

func (m *module) section(id byte, r *reader) error {
	switch id {
	case sectionCustom:
		// Names and the like: they count functions that get other numbers.
	case sectionType:
		r.each(func() { m.types = append(m.types, r.span(r.functionType)) })
	case sectionImport:
		r.each(func() { m.imports = append(m.imports, r.importEntry()) })
	case sectionFunction:
		r.each(func() { m.functions = append(m.functions, r.u32()) })
	case sectionGlobal:
		r.each(func() {
			m.globals = append(m.globals, r.span(func() {
				r.take(2)
				r.constant()
			}))
		})
	case sectionExport:
		r.each(func() { m.exports = append(m.exports, exportEntry{r.name(), r.byte(), r.u32()}) })
	case sectionStart:
		start := r.u32()
		m.start = &start
	case sectionElement:
		r.each(func() { m.elements = append(m.elements, r.span(r.element)) })
	case sectionCode:
		r.each(func() { m.bodies = append(m.bodies, r.take(r.u32())) })
	case sectionTable, sectionMemory, sectionData, sectionDataCount:
		m.plain[id] = r.bytes
		return nil
	default:
		return errors.New("the SDK does not know it")
	}
	return r.err
}

// importedFunctions are the imports that are functions, in the order of their numbers.
func (m *module) importedFunctions() []importEntry {
	var found []importEntry
	for _, entry := range m.imports {
		if entry.kind == kindFunction {
			found = append(found, entry)
		}
	}
	return found
}

// typeOf is the type of the function with this number.
func (m *module) typeOf(function uint32) ([]byte, error) {
	imported := m.importedFunctions()
	index := uint32(0)
	switch own := int(function) - len(imported); {
	case own < 0:
		index = imported[function].typeIndex
	case own < len(m.functions):
		index = m.functions[own]
	default:
		return nil, fmt.Errorf("there is no function %d", function)
	}
	if int(index) >= len(m.types) {
		return nil, fmt.Errorf("there is no type %d", index)
	}
	return m.types[index], nil
}

// exported finds what is exported by this name.
func (m *module) exported(name string, kind byte) (uint32, bool) {
	for _, entry := range m.exports {
		if entry.name == name && entry.kind == kind {
			return entry.index, true
		}
	}
	return 0, false
}

// write is the module as a file, with custom sections behind it.
func (m *module) write(custom map[string][]byte) []byte {
	out := []byte("\x00asm\x01\x00\x00\x00")
	section := func(id byte, content []byte) {
		if len(content) > 0 {
			out = append(out, id)
			out = appendBytes(out, content)
		}
	}
	section(sectionType, join(m.types))
	var imports [][]byte
	for _, entry := range m.imports {
		one := appendBytes(appendBytes(nil, []byte(entry.module)), []byte(entry.name))
		one = append(one, entry.kind)
		if entry.kind == kindFunction {
			one = appendU32(one, entry.typeIndex)
		}
		imports = append(imports, append(one, entry.rest...))
	}
	section(sectionImport, join(imports))
	var functions, exports, bodies [][]byte
	for _, of := range m.functions {
		functions = append(functions, appendU32(nil, of))
	}
	section(sectionFunction, join(functions))
	section(sectionTable, m.plain[sectionTable])
	section(sectionMemory, m.plain[sectionMemory])
	section(sectionGlobal, join(m.globals))
	for _, entry := range m.exports {
		exports = append(exports, appendU32(append(appendBytes(nil, []byte(entry.name)), entry.kind), entry.index))
	}
	section(sectionExport, join(exports))
	if m.start != nil {
		section(sectionStart, appendU32(nil, *m.start))
	}
	section(sectionElement, join(m.elements))
	section(sectionDataCount, m.plain[sectionDataCount])
	for _, body := range m.bodies {
		bodies = append(bodies, appendBytes(nil, body))
	}
	section(sectionCode, join(bodies))
	section(sectionData, m.plain[sectionData])
	for name, content := range custom {
		section(sectionCustom, append(appendBytes(nil, []byte(name)), content...))
	}
	return out
}

// join is a vector.
func join(entries [][]byte) []byte {
	if len(entries) == 0 {
		return nil
	}
	return append(appendU32(nil, uint32(len(entries))), bytes.Join(entries, nil)...)
}

func appendU32(to []byte, value uint32) []byte { return binary.AppendUvarint(to, uint64(value)) }

func appendBytes(to, content []byte) []byte {
	return append(appendU32(to, uint32(len(content))), content...)
}

// reader goes through bytes. The first error stays, and from then on there is nothing to read.
type reader struct {
	bytes []byte
	at    int
	err   error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
	r.at = len(r.bytes)
}

func (r *reader) byte() byte {
	if r.at >= len(r.bytes) {
		r.fail(errShort)
		return 0
	}
	r.at++
	return r.bytes[r.at-1]
}

func (r *reader) take(length uint32) []byte {
	if uint64(length) > uint64(len(r.bytes)-r.at) {
		r.fail(errShort)
		return nil
	}
	r.at += int(length)
	return r.bytes[r.at-int(length) : r.at]
}

func (r *reader) u32() uint32 {
	value, length := binary.Uvarint(r.bytes[r.at:])
	if length <= 0 || value > 1<<32-1 {
		r.fail(errShort)
		return 0
	}
	r.at += length
	return uint32(value)
}

// skipLEB goes over a number of any length and sign.
func (r *reader) skipLEB() {
	for r.byte() >= 0x80 {
	}
}

func (r *reader) name() string { return string(r.take(r.u32())) }

// each reads the entries of a vector.
func (r *reader) each(entry func()) {
	for count := r.u32(); count > 0 && r.err == nil; count-- {
		entry()
	}
}

// span is what read goes over.
func (r *reader) span(read func()) []byte {
	from := r.at
	read()
	if r.err != nil {
		return nil
	}
	return r.bytes[from:r.at]
}

func (r *reader) functionType() {
	if r.byte() != 0x60 {
		r.fail(errors.New("a type that is no function's"))
	}
	r.take(r.u32())
	r.take(r.u32())
}

func (r *reader) limits() {
	if r.byte()&1 != 0 {
		r.skipLEB()
	}
	r.skipLEB()
}

func (r *reader) importEntry() importEntry {
	entry := importEntry{module: r.name(), name: r.name(), kind: r.byte()}
	switch entry.kind {
	case kindFunction:
		entry.typeIndex = r.u32()
	case kindTable:
		entry.rest = r.span(func() {
			r.byte()
			r.limits()
		})
	case kindMemory:
		entry.rest = r.span(r.limits)
	case kindGlobal:
		entry.rest = r.take(2)
	default:
		r.fail(fmt.Errorf("the import %s %s is of a kind the SDK does not know", entry.module, entry.name))
	}
	return entry
}

// constant goes over a constant expression.
func (r *reader) constant() {
	for r.err == nil {
		if op := r.byte(); op == opEnd {
			return
		} else if err := r.immediates(op, nil); err != nil {
			r.fail(err)
		}
	}
}

// element goes over a table's elements: the Go compiler writes them all in one way.
func (r *reader) element() {
	if r.u32() != 0 {
		r.fail(errors.New("elements that are written in a way the SDK does not know"))
	}
	r.constant()
	r.each(func() { r.u32() })
}
