package abi

import "errors"

// asError is an error in the contract's words: what is none of it is a transient one.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		// With what was put around it.
		found := *e
		found.Message = err.Error()
		return &found
	}
	return &Error{Class: Transient, Message: err.Error()}
}
