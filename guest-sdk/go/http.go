package oarlock

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"oarlock.dev/oarlock/abi"
)

// HTTPRequest is one request with its whole body. Package oarlockhttp has the same for net/http, which makes a plugin larger.
type HTTPRequest struct {
	// Method; empty: GET.
	Method string
	// URL is absolute, of an origin in the grant.
	URL     string
	Headers map[string]string
	Body    []byte
	// JSON becomes the body, with its content-type.
	JSON any
	// Timeout is for the whole exchange. 0: what is left of the reconcile's deadline.
	Timeout time.Duration
}

// HTTPResponse is an answer, whatever its status.
type HTTPResponse struct {
	Status int
	// Headers by name, in lower case.
	Headers map[string]string
	Body    []byte
}

// Send sends a request. Redirects are not followed. No answer is a transient error, which may have had its effect all the same; where
// trying again cannot help it is a terminal one. errors.As finds the *abi.Failure that says which.
func Send(request HTTPRequest) (*HTTPResponse, error) {
	outgoing := &abi.Outgoing{Method: request.Method, URL: request.URL, Body: request.Body}
	if outgoing.Method == "" {
		outgoing.Method = "GET"
	}
	for name, value := range request.Headers {
		outgoing.Headers = append(outgoing.Headers, abi.Header{Name: name, Value: value})
	}
	if request.JSON != nil {
		outgoing.Body = []byte(document("the request's body", request.JSON))
		outgoing.Headers = append(outgoing.Headers, abi.Header{Name: "content-type", Value: "application/json"})
	}
	if ms := milliseconds(request.Timeout); ms != nil {
		outgoing.TimeoutMS = uint32(min(*ms, 1<<32-1))
	}
	answer, err := host().Send(outgoing)
	if err != nil {
		return nil, FailedRequest(outgoing.Method+" "+outgoing.URL, err)
	}
	response := &HTTPResponse{Status: int(answer.Status), Headers: map[string]string{}, Body: answer.Body}
	for _, header := range answer.Headers {
		if before, again := response.Headers[header.Name]; again {
			header.Value = before + ", " + header.Value
		}
		response.Headers[header.Name] = header.Value
	}
	return response, nil
}

// FailedRequest is a request without an answer as an error that says who tries again.
func FailedRequest(what string, err error) error {
	failure, ok := err.(*abi.Failure)
	if !ok {
		return err
	}
	if failure.Class == abi.RequestDenied || failure.Class == abi.Invalid {
		return Terminalf("%s: %w", what, failure)
	}
	return Transientf("%s: %w", what, failure)
}

// OK is nil for a status from 200 to 299, a transient error for 408, 425, 429 (with its Retry-After) and 5xx, and a terminal one for the rest,
// with the beginning of the body.
func (r *HTTPResponse) OK() error {
	switch {
	case r.Status >= 200 && r.Status < 300:
		return nil
	case r.Status == 408, r.Status == 425, r.Status == 429, r.Status >= 500:
		e := Transientf("status %d: %.200s", r.Status, r.Body)
		// The form with a date counts as absent: clocks of two machines cannot be compared.
		if seconds, err := strconv.ParseUint(strings.TrimSpace(r.Headers["retry-after"]), 10, 31); err == nil {
			return e.After(time.Duration(seconds) * time.Second)
		}
		return e
	}
	return Terminalf("status %d: %.200s", r.Status, r.Body)
}

// Decode reads the body as JSON. Half an answer or a proxy's page is not what the server meant to say: a transient error.
func (r *HTTPResponse) Decode(into any) error {
	if err := json.Unmarshal(r.Body, into); err != nil {
		return Transientf("the answer (status %d) is not what was expected: %w", r.Status, err)
	}
	return nil
}
