package oarlock

import (
	"errors"
	"fmt"
	"time"

	"oarlock.dev/oarlock/abi"
)

// Error says who tries again. Its text reaches people through the Ready condition, an event and the log; the host keeps 1024 bytes of it.
type Error struct {
	told  *abi.Error
	cause error
}

// Transientf is an error of the world outside: tried again with the key's own backoff, as every error is that is not of this package. %w
// wraps a cause, as in fmt.Errorf.
func Transientf(format string, arguments ...any) *Error {
	return newError(abi.Transient, format, arguments)
}

// Terminalf is an error of the object: only a change of it, the next resync or a new version of the plugin tries again.
func Terminalf(format string, arguments ...any) *Error {
	return newError(abi.Terminal, format, arguments)
}

// Deniedf refuses a request (admission only). The user who sent it is told the text.
func Deniedf(format string, arguments ...any) *Error {
	e := newError(abi.Denied, format, arguments)
	e.told.Code, e.told.Reason = 403, "Forbidden"
	return e
}

// After has a transient error tried again after this long, at most a day, in place of the backoff.
func (e *Error) After(delay time.Duration) *Error {
	e.told.DelayMS = milliseconds(delay)
	if e.told.DelayMS == nil {
		e.told.DelayMS = new(uint64)
	}
	return e
}

// WithStatus sets the HTTP status and the reason (UpperCamelCase) of a denial. Without it: 403, Forbidden.
func (e *Error) WithStatus(code int, reason string) *Error {
	e.told.Code, e.told.Reason = uint16(code), reason
	return e
}

// Error is its text.
func (e *Error) Error() string { return e.told.Message }

// Unwrap is what %w stood for, and the error as the contract has it.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.told}
	}
	return []error{e.told, e.cause}
}

// IsTransient: it is tried again by itself. So is every error that is not of this package.
func IsTransient(err error) bool {
	var told *abi.Error
	return err != nil && (!errors.As(err, &told) || told.Class == abi.Transient)
}

// IsTerminal: nobody tries again by himself.
func IsTerminal(err error) bool {
	var told *abi.Error
	return errors.As(err, &told) && told.Class == abi.Terminal
}

// RetryAfter is the delay that an error names.
func RetryAfter(err error) (time.Duration, bool) {
	var told *abi.Error
	if !errors.As(err, &told) || told.DelayMS == nil {
		return 0, false
	}
	return time.Duration(*told.DelayMS) * time.Millisecond, true
}

func newError(class abi.Class, format string, arguments []any) *Error {
	cause := fmt.Errorf(format, arguments...)
	return &Error{&abi.Error{Class: class, Message: cause.Error()}, errors.Unwrap(cause)}
}

// fromHost is an error of the host in the words of this package.
func fromHost(err error) error {
	var told *abi.Error
	if errors.As(err, &told) {
		return &Error{told: told}
	}
	return err
}

// milliseconds rounds up, so that a short delay does not become none. Nil for none.
func milliseconds(duration time.Duration) *uint64 {
	if duration <= 0 {
		return nil
	}
	count := uint64((duration + time.Millisecond - 1) / time.Millisecond)
	return &count
}
