// A guest that misbehaves as Go code does: the contract as it is, nothing between it and the host.
//
// The key mode of the configuration says how get-desired misbehaves; without it, the guest behaves well.
package main

import (
	crypto "crypto/rand"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"time"

	"oarlock.dev/oarlock/abi"
)

const manifest = `{
  "apiVersion": "oarlock.dev/v1alpha1",
  "kind": "PluginManifest",
  "name": "unruly-go",
  "version": "0.1.0",
  "primaries": [{"version": "v1", "kind": "ConfigMap"}],
  "config": {"type": "object", "additionalProperties": false, "properties": {"mode": {"type": "string"}}}
}`

type unruly struct{}

func init() { abi.Export(unruly{}) }

func main() {}

func (unruly) Describe() string { return manifest }

func (unruly) GetDesired(*abi.Request) (*string, error) {
	mode, _ := abi.Current().ConfigGet("mode")
	if act, ok := modes[mode]; ok {
		if err := act(); err != nil {
			return nil, err
		}
	}
	state := `{"ok": true}`
	if mode == "nonsense" {
		state = "this is no JSON"
	}
	if mode == "chance" {
		state = chance()
	}
	return &state, nil
}

func (unruly) GetActual(*abi.Request) (*abi.Observation, error) {
	state := `{"ok": true}`
	return &abi.Observation{State: &state}, nil
}

func (unruly) Patch(*abi.Request, *string, *string) (*abi.Outcome, error) {
	return &abi.Outcome{}, nil
}

var modes = map[string]func() error{
	"throw": func() error {
		first()
		return nil
	},
	"exit": func() error {
		os.Exit(3)
		return nil
	},
	"print": func() error {
		fmt.Println("a line on stdout")
		fmt.Fprintln(os.Stderr, "a line on stderr")
		return nil
	},
	"sleep": func() error {
		time.Sleep(time.Second)
		return nil
	},
	"open": func() error {
		_, err := os.ReadFile("/etc/passwd")
		return err
	},
	"env": func() error {
		if _, ok := os.LookupEnv("HOME"); !ok {
			return errors.New("HOME is not set")
		}
		return nil
	},
	// A goroutine is none: it runs when this one waits. There is nothing else to run it on.
	"thread": func() error {
		ran := make(chan struct{})
		go close(ran)
		<-ran
		return errors.New("a goroutine ran, on the only thread there is")
	},
	"loop": func() error {
		for {
		}
	},
}

var (
	calls   int
	started = time.Now()
)

// chance is not the same twice: clocks, random numbers, the order of a map, and what an earlier reconcile left in memory.
func chance() string {
	calls++
	var bytes [8]byte
	if _, err := crypto.Read(bytes[:]); err != nil {
		panic(err)
	}
	order := ""
	for name := range map[string]bool{"a": true, "b": true, "c": true, "d": true} {
		order += name
	}
	return fmt.Sprintf(`{"ok": false, "wall": %d, "since": %d, "random": %d, "bytes": "%x", "order": %q, "calls": %d}`,
		time.Now().UnixNano(), time.Since(started), rand.Int63(), bytes, order, calls)
}

func first() { second() }

func second() { panic(errors.New("the answer is 42")) }
