// Package oarlockhttp sends requests of net/http through the host. Where it is imported into a component, http.DefaultClient does.
package oarlockhttp

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"time"

	"oarlock.dev/oarlock"
	"oarlock.dev/oarlock/abi"
)

// Transport sends requests through the host, only to origins of the grant. Redirects are followed by the http.Client, each as a request of
// its own. Requests without an answer are errors of package oarlock, inside of a *url.Error.
type Transport struct{}

// RoundTrip sends one request.
func (Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	outgoing := &abi.Outgoing{Method: request.Method, URL: request.URL.String()}
	if request.Body != nil {
		body, err := io.ReadAll(request.Body)
		request.Body.Close()
		if err != nil {
			return nil, err
		}
		outgoing.Body = body
	}
	for name, values := range request.Header {
		for _, value := range values {
			outgoing.Headers = append(outgoing.Headers, abi.Header{Name: name, Value: value})
		}
	}
	if deadline, ok := request.Context().Deadline(); ok {
		left := time.Until(deadline).Milliseconds()
		outgoing.TimeoutMS = uint32(min(max(left, 1), 1<<32-1))
	}
	answer, err := abi.Current().Send(outgoing)
	if err != nil {
		return nil, oarlock.FailedRequest(outgoing.Method+" "+outgoing.URL, err)
	}
	response := &http.Response{
		Status:        strconv.Itoa(int(answer.Status)) + " " + http.StatusText(int(answer.Status)),
		StatusCode:    int(answer.Status),
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        http.Header{},
		Body:          io.NopCloser(bytes.NewReader(answer.Body)),
		ContentLength: int64(len(answer.Body)),
		Request:       request,
	}
	for _, header := range answer.Headers {
		response.Header.Add(header.Name, header.Value)
	}
	return response, nil
}
