// Package link makes of what the Go compiler makes a module that the host takes: what the runtime asks of WASI's first preview is put beside
// it (preview1.wat), and the component type behind it.
package link

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"slices"
)

//go:embed preview1.bin
var preview1 []byte

//go:embed component-type.bin
var componentType []byte

//go:embed converting-component-type.bin
var convertingComponentType []byte

// convert is what a plugin exports that imports package conversion.
const convert = "oarlock:reconciler/conversion@0.1.0#convert"

// Modules whose functions are those of preview1.wat.
var provided = map[string]bool{"wasi_snapshot_preview1": true, "oarlock:go": true}

// compiled is the module that preview1.wat imports from.
const compiled = "go"

// Component links a module of `go build -buildmode=c-shared` for wasip1, and starts it. unstarted is why each instance has to start it
// instead.
func Component(file []byte) (plugin []byte, unstarted, err error) {
	program, err := parse(file)
	if err != nil {
		return nil, nil, fmt.Errorf("not what the Go compiler makes: %w", err)
	}
	beside, err := parse(preview1)
	if err != nil {
		return nil, nil, fmt.Errorf("preview1.bin: %w", err)
	}
	linked, err := merge(program, beside)
	if err != nil {
		return nil, nil, err
	}
	ahead, unstarted := started(linked, sha256.Sum256(file))
	if unstarted == nil {
		linked = ahead
	}
	linked.exports = slices.DeleteFunc(linked.exports, func(entry exportEntry) bool {
		return unexported[entry.name] || entry.name == initialize && unstarted == nil
	})
	worldType := componentType
	if _, converts := program.exported(convert, kindFunction); converts {
		worldType = convertingComponentType
	}
	return linked.write(map[string][]byte{"component-type:oarlock": worldType}), unstarted, nil
}

// merge makes one module of two. Functions of beside take the place of the program's imports, and of exports of the same name.
func merge(program, beside *module) (*module, error) {
	linked := &module{plain: program.plain, start: program.start}
	linked.types = append(append(linked.types, program.types...), beside.types...)
	types := numbers{types: sequence(0, len(program.types))}
	besideTypes := numbers{types: sequence(len(program.types), len(beside.types))}

	// Imports that stay come first; functions of the two follow.
	var kept, keptBeside []importEntry
	for _, entry := range program.imports {
		if entry.kind != kindFunction || !provided[entry.module] {
			kept = append(kept, entry)
		}
	}
	for _, entry := range beside.imports {
		if entry.module != compiled {
			entry.typeIndex += uint32(len(program.types))
			keptBeside = append(keptBeside, entry)
		}
	}
	linked.imports = append(kept, keptBeside...)
	imported := len(linked.importedFunctions())
	firstOwn, firstBeside := imported, imported+len(program.functions)

	// In both directions: which function is behind an import.
	next := 0
	for _, entry := range program.importedFunctions() {
		number := uint32(next)
		if provided[entry.module] {
			own, err := resolve(entry, program, beside, "the SDK has none, so the Go program cannot use it")
			if err != nil {
				return nil, err
			}
			number = uint32(firstBeside + own - len(beside.importedFunctions()))
		} else {
			next++
		}
		types.functions = append(types.functions, number)
	}
	types.functions = append(types.functions, sequence(firstOwn, len(program.functions))...)
	for _, entry := range beside.importedFunctions() {
		number := uint32(next)
		if entry.module == compiled {
			own, err := resolve(entry, beside, program, "the Go program does not import oarlock.dev/oarlock, or was not built with -buildmode=c-shared")
			if err != nil {
				return nil, err
			}
			number = types.functions[own]
		} else {
			next++
		}
		besideTypes.functions = append(besideTypes.functions, number)
	}
	besideTypes.functions = append(besideTypes.functions, sequence(firstBeside, len(beside.functions))...)
	types.globals = sequence(0, len(program.globals))
	besideTypes.globals = sequence(len(program.globals), len(beside.globals))

	if err := linked.add(program, &types); err != nil {
		return nil, err
	}
	if err := linked.add(beside, &besideTypes); err != nil {
		return nil, fmt.Errorf("preview1.bin: %w", err)
	}
	for _, entry := range program.exports {
		if entry.kind == kindFunction {
			entry.index = types.functions[entry.index]
			if instead, ok := beside.exported(entry.name, kindFunction); ok {
				entry.index = besideTypes.functions[instead]
			}
		}
		linked.exports = append(linked.exports, entry)
	}
	for _, entry := range beside.exports {
		if entry.kind == kindGlobal {
			entry.index = besideTypes.globals[entry.index]
			linked.exports = append(linked.exports, entry)
		}
	}
	if linked.start != nil {
		start := types.functions[*linked.start]
		linked.start = &start
	}
	for _, element := range program.elements {
		renumbered, err := types.element(element)
		if err != nil {
			return nil, err
		}
		linked.elements = append(linked.elements, renumbered)
	}
	return linked, nil
}

// add takes over what a module defines, with new numbers.
func (m *module) add(from *module, with *numbers) error {
	for _, of := range from.functions {
		m.functions = append(m.functions, with.types[of])
	}
	for _, global := range from.globals {
		initial, err := with.renumber(global[2:], false)
		if err != nil {
			return err
		}
		m.globals = append(m.globals, append(global[:2:2], initial...))
	}
	for _, body := range from.bodies {
		renumbered, err := with.renumber(body, true)
		if err != nil {
			return err
		}
		m.bodies = append(m.bodies, renumbered)
	}
	return nil
}

// element writes elements with new numbers.
func (n *numbers) element(element []byte) ([]byte, error) {
	r := &reader{bytes: element}
	out := appendU32(nil, r.u32())
	offset, err := n.renumber(r.span(r.constant), false)
	if err != nil {
		return nil, err
	}
	out = append(out, offset...)
	var entries [][]byte
	r.each(func() {
		if old := r.u32(); int(old) < len(n.functions) {
			entries = append(entries, appendU32(nil, n.functions[old]))
		} else {
			r.fail(fmt.Errorf("an element names function %d of %d", old, len(n.functions)))
		}
	})
	return append(out, join(entries)...), r.err
}

// resolve finds the function that an import of one module is in the other.
func resolve(entry importEntry, of, in *module, missing string) (int, error) {
	index, ok := in.exported(entry.name, kindFunction)
	if !ok {
		return 0, fmt.Errorf("%s %s: %s", entry.module, entry.name, missing)
	}
	found, err := in.typeOf(index)
	if err != nil {
		return 0, err
	}
	if int(entry.typeIndex) >= len(of.types) || !bytes.Equal(found, of.types[entry.typeIndex]) {
		return 0, fmt.Errorf("%s %s: the function is of another type: is this version of Go too new for the SDK?", entry.module, entry.name)
	}
	return int(index), nil
}

// sequence is length numbers, from first on.
func sequence(first, length int) []uint32 {
	numbers := make([]uint32, length)
	for i := range numbers {
		numbers[i] = uint32(first + i)
	}
	return numbers
}
