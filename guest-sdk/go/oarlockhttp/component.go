//go:build wasip1

package oarlockhttp

import "net/http"

func init() { http.DefaultTransport = Transport{} }
