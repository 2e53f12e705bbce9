//go:build wasip1

package abi

import (
	"math/rand/v2"
	"runtime"
	"unsafe"
)

// plugin is what the component exports.
var plugin Plugin

// Export makes p what the component exports. Called once, while the program starts.
func Export(p Plugin) { plugin = p }

// prepare is what can be done before the first call.
var prepare = func() {}

// Prepare has the build call this after the init functions. What it leaves in memory, each instance begins with. Called once, while the
// program starts.
func Prepare(do func()) { prepare = do }

// The linker calls the first two: see internal/link/start.go.
//
//go:wasmexport oarlock:go/prepare
func exportPrepare() { prepare() }

//go:wasmexport oarlock:go/random
func exportRandom() uint64 { return rand.Uint64() }

// wake gives an instance whose program was started ahead random numbers of its own.
//
//go:wasmimport oarlock:go wake
func wake()

// Current is the host.
func Current() Host { return component{} }

// Trap ends the call. It does not come back.
//
//go:wasmimport oarlock:go trap
func Trap()

//go:wasmimport oarlock:go lend
func lend(at unsafe.Pointer, length uint32)

//go:wasmimport oarlock:go release
func releaseLent()

// lent is where the host puts what it hands over, until it has been copied. What does not fit is allocated.
var lent [1 << 20]byte

// pinned is what was allocated for the host: it knows where, and Go must not take it for unused.
var pinned [][]uint64

func init() { lend(unsafe.Pointer(&lent), uint32(len(lent))) }

// release gives up what the host handed over.
func release() {
	pinned = nil
	releaseLent()
}

//go:wasmexport cabi_realloc
func cabiRealloc(_ unsafe.Pointer, _, _, size uint32) unsafe.Pointer {
	block := make([]uint64, size/8+1)
	pinned = append(pinned, block)
	return unsafe.Pointer(unsafe.SliceData(block))
}

// answer is what the last call answered: the host reads it right after.
var answer *block

//go:wasmexport oarlock:reconciler/reconcile@0.1.0#describe
func exportDescribe() unsafe.Pointer {
	wake()
	answer = newBlock(8)
	answer.text(0, plugin.Describe())
	return answer.pointer()
}

//go:wasmexport oarlock:reconciler/reconcile@0.1.0#get-desired
func exportGetDesired(at unsafe.Pointer) unsafe.Pointer {
	wake()
	request := readRequest(memory{at})
	release()
	state, err := plugin.GetDesired(request)
	answer = newBlock(40)
	if err != nil {
		answer.failed(err)
	} else {
		answer.option(8, state)
	}
	return answer.pointer()
}

//go:wasmexport oarlock:reconciler/reconcile@0.1.0#get-actual
func exportGetActual(at unsafe.Pointer) unsafe.Pointer {
	wake()
	request := readRequest(memory{at})
	release()
	observation, err := plugin.GetActual(request)
	answer = newBlock(48)
	if err != nil {
		answer.failed(err)
	} else {
		answer.option(8, observation.State)
		answer.option(20, observation.Status)
		answer.optionU64(32, observation.RequeueAfterMS)
	}
	return answer.pointer()
}

//go:wasmexport oarlock:reconciler/reconcile@0.1.0#patch
func exportPatch(at unsafe.Pointer) unsafe.Pointer {
	wake()
	m := memory{at}
	request, desired, actual := readRequest(m), m.option(requestSize), m.option(requestSize+12)
	release()
	outcome, err := plugin.Patch(request, desired, actual)
	answer = newBlock(48)
	if err != nil {
		answer.failed(err)
	} else {
		answer.outcome(8, outcome)
	}
	return answer.pointer()
}

// failed writes an error at the beginning of a result.
func (b *block) failed(err error) {
	e := asError(err)
	b.u8(0, 1)
	b.u8(8, byte(e.Class))
	switch e.Class {
	case Transient:
		b.optionU64(16, e.DelayMS)
		b.text(32, e.Message)
	case Terminal:
		b.text(16, e.Message)
	case Denied:
		b.u16(16, e.Code)
		b.text(20, e.Reason)
		b.text(28, e.Message)
	}
}

func (b *block) outcome(at int, outcome *Outcome) {
	changes := b.list(at, len(outcome.Changes), changeSize)
	for i, change := range outcome.Changes {
		changes.change(i*changeSize, change)
	}
	events := b.list(at+8, len(outcome.Events), 20)
	for i, event := range outcome.Events {
		if event.Warning {
			events.u8(i*20, 1)
		}
		events.text(i*20+4, event.Reason)
		events.text(i*20+12, event.Message)
	}
	warnings := b.list(at+16, len(outcome.Warnings), 8)
	for i, warning := range outcome.Warnings {
		warnings.text(i*8, warning)
	}
	b.optionU64(at+24, outcome.RequeueAfterMS)
}

func (b *block) change(at int, change Change) {
	switch change := change.(type) {
	case *ApplyChange:
		b.text(at+4, change.Object)
		b.text(at+12, change.Subresource)
		b.boolean(at+20, change.Force)
		b.precondition(at+24, change.Precondition)
	case *CreateChange:
		b.u8(at, 1)
		b.text(at+4, change.Object)
	case *PatchChange:
		b.u8(at, 2)
		if change.Target != nil {
			b.u8(at+4, 1)
			b.objectRef(at+8, *change.Target)
		}
		b.u8(at+48, byte(change.Type))
		b.text(at+52, change.Patch)
		b.text(at+60, change.Subresource)
		b.precondition(at+68, change.Precondition)
	case *DeleteChange:
		b.u8(at, 3)
		b.objectRef(at+4, change.Target)
		b.u8(at+44, byte(change.Propagation))
		b.precondition(at+48, change.Precondition)
	}
}

func (b *block) objectRef(at int, ref ObjectRef) {
	b.text(at, ref.Kind.Group)
	b.text(at+8, ref.Kind.Version)
	b.text(at+16, ref.Kind.Kind)
	b.text(at+24, ref.Key.Namespace)
	b.text(at+32, ref.Key.Name)
}

func (b *block) precondition(at int, precondition Precondition) {
	b.option(at, precondition.UID)
	b.option(at+12, precondition.ResourceVersion)
}

func readRequest(m memory) *Request {
	return &Request{
		Kind:          Kind{m.text(0), m.text(8), m.text(16)},
		Key:           Key{m.text(24), m.text(32)},
		UID:           m.text(40),
		Object:        m.option(48),
		LastSeen:      m.option(60),
		Deleting:      m.u8(72) != 0,
		Trigger:       Trigger(m.u8(73)),
		Attempt:       m.u32(76),
		CorrelationID: m.text(80),
		Review:        m.option(88),
		DryRun:        m.u8(100) != 0,
	}
}

// Sizes of records that others follow.
const (
	requestSize = 104
	changeSize  = 92
)

// component asks the host through the component's imports.
type component struct{}

//go:wasmimport oarlock:reconciler/cluster@0.1.0 get-object
func getObject(group, version, kind, namespace, name string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cluster@0.1.0 get-applied
func getApplied(group, version, kind, namespace, name string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cluster@0.1.0 get-live
func getLive(group, version, kind, namespace, name string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cluster@0.1.0 list-objects
func listObjects(group, version, kind, namespace, labelSelector, ownerUID string, limit uint32, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cluster@0.1.0 list-indexed
func listIndexed(arguments, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/merge@0.1.0 create-two-way
func createTwoWay(group, version, kind, original, modified string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/merge@0.1.0 create-three-way
func createThreeWay(group, version, kind, original, modified, current string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/merge@0.1.0 apply-patch
func applyPatch(group, version, kind, original, patch string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/http@0.1.0 send
func send(method, url string, headers unsafe.Pointer, headerCount uint32, body unsafe.Pointer, bodyLength, timeoutMS uint32, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cache@0.1.0 get
func cacheGet(key string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/cache@0.1.0 set
func cacheSet(key string, value unsafe.Pointer, length uint32, ttlMS uint64)

//go:wasmimport oarlock:reconciler/config@0.1.0 get
func configGet(key string, answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/config@0.1.0 keys
func configKeys(answer unsafe.Pointer)

//go:wasmimport oarlock:reconciler/log@0.1.0 log
func log(level uint32, message string, fields unsafe.Pointer, fieldCount uint32)

func (component) GetObject(kind Kind, key Key) (*string, error) {
	result := newBlock(40)
	getObject(kind.Group, kind.Version, kind.Kind, key.Namespace, key.Name, result.pointer())
	return result.optionResult()
}

func (component) GetApplied(kind Kind, key Key) (*string, error) {
	result := newBlock(40)
	getApplied(kind.Group, kind.Version, kind.Kind, key.Namespace, key.Name, result.pointer())
	return result.optionResult()
}

func (component) GetLive(kind Kind, key Key) (*string, error) {
	result := newBlock(40)
	getLive(kind.Group, kind.Version, kind.Kind, key.Namespace, key.Name, result.pointer())
	return result.optionResult()
}

func (component) ListObjects(kind Kind, options ListOptions) ([]string, error) {
	result := newBlock(40)
	listObjects(kind.Group, kind.Version, kind.Kind, options.Namespace, options.LabelSelector, options.OwnerUID, options.Limit, result.pointer())
	return result.textsResult()
}

func (component) ListIndexed(kind Kind, index, value string, options ListOptions) ([]string, error) {
	// More than 16 values are passed in memory.
	arguments := newBlock(68)
	texts := []string{kind.Group, kind.Version, kind.Kind, index, value, options.Namespace, options.LabelSelector, options.OwnerUID}
	for i, text := range texts {
		arguments.text(i*8, text)
	}
	arguments.u32(64, options.Limit)
	result := newBlock(40)
	listIndexed(arguments.pointer(), result.pointer())
	runtime.KeepAlive(arguments)
	return result.textsResult()
}

func (component) CreateTwoWay(kind Kind, original, modified string) (string, error) {
	result := newBlock(40)
	createTwoWay(kind.Group, kind.Version, kind.Kind, original, modified, result.pointer())
	return result.textResult()
}

func (component) CreateThreeWay(kind Kind, original, modified, current string) (string, error) {
	result := newBlock(40)
	createThreeWay(kind.Group, kind.Version, kind.Kind, original, modified, current, result.pointer())
	return result.textResult()
}

func (component) ApplyPatch(kind Kind, original, patch string) (string, error) {
	result := newBlock(40)
	applyPatch(kind.Group, kind.Version, kind.Kind, original, patch, result.pointer())
	return result.textResult()
}

func (component) Send(request *Outgoing) (*Response, error) {
	headers := newBlock(len(request.Headers) * 16)
	for i, header := range request.Headers {
		headers.text(i*16, header.Name)
		headers.text(i*16+8, header.Value)
	}
	result := newBlock(32)
	send(request.Method, request.URL, headers.pointer(), uint32(len(request.Headers)),
		unsafe.Pointer(unsafe.SliceData(request.Body)), uint32(len(request.Body)), request.TimeoutMS, result.pointer())
	runtime.KeepAlive(headers)
	defer release()
	m := result.memory()
	if m.u8(0) != 0 {
		failure := &Failure{Class: FailureClass(m.u8(8))}
		switch failure.Class {
		case TimedOut:
		case TooLarge:
			failure.Limit = m.u64(16)
		default:
			failure.Message = m.text(16)
		}
		return nil, failure
	}
	response := &Response{Status: m.u16(8), Body: m.bytes(20)}
	at, count := m.list(12)
	for i := range count {
		response.Headers = append(response.Headers, Header{at.text(i * 16), at.text(i*16 + 8)})
	}
	return response, nil
}

func (component) CacheGet(key string) ([]byte, bool) {
	result := newBlock(12)
	cacheGet(key, result.pointer())
	defer release()
	m := result.memory()
	if m.u8(0) == 0 {
		return nil, false
	}
	return m.bytes(4), true
}

func (component) CacheSet(key string, value []byte, ttlMS uint64) {
	cacheSet(key, unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)), ttlMS)
}

func (component) ConfigGet(key string) (string, bool) {
	result := newBlock(12)
	configGet(key, result.pointer())
	defer release()
	value := result.memory().option(0)
	if value == nil {
		return "", false
	}
	return *value, true
}

func (component) ConfigKeys() []string {
	result := newBlock(8)
	configKeys(result.pointer())
	defer release()
	return result.memory().texts(0)
}

func (component) Log(level Level, message string, fields [][2]string) {
	pairs := newBlock(len(fields) * 16)
	for i, field := range fields {
		pairs.text(i*16, field[0])
		pairs.text(i*16+8, field[1])
	}
	log(uint32(level), message, pairs.pointer(), uint32(len(fields)))
	runtime.KeepAlive(pairs)
}

// optionResult reads a result<option<json>, error>.
func (b *block) optionResult() (*string, error) {
	defer release()
	m := b.memory()
	if err := m.failure(); err != nil {
		return nil, err
	}
	return m.option(8), nil
}

// textsResult reads a result<list<json>, error>.
func (b *block) textsResult() ([]string, error) {
	defer release()
	m := b.memory()
	if err := m.failure(); err != nil {
		return nil, err
	}
	return m.texts(8), nil
}

// textResult reads a result<json, error>.
func (b *block) textResult() (string, error) {
	defer release()
	m := b.memory()
	if err := m.failure(); err != nil {
		return "", err
	}
	return m.text(8), nil
}

// failure reads the error of a result, if it is one.
func (m memory) failure() error {
	if m.u8(0) == 0 {
		return nil
	}
	e := &Error{Class: Class(m.u8(8))}
	switch e.Class {
	case Transient:
		if m.u8(16) != 0 {
			delay := m.u64(24)
			e.DelayMS = &delay
		}
		e.Message = m.text(32)
	case Terminal:
		e.Message = m.text(16)
	case Denied:
		e.Code, e.Reason, e.Message = m.u16(16), m.text(20), m.text(28)
	}
	return e
}
