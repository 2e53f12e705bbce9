// Oarlock-link makes a plugin of what `go build -buildmode=c-shared` makes for wasip1: oarlock-link MODULE PLUGIN.
package main

import (
	"fmt"
	"os"

	"oarlock.dev/oarlock/internal/link"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: oarlock-link MODULE PLUGIN")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "oarlock-link: %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	file, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	plugin, unstarted, err := link.Component(file)
	if err != nil {
		return err
	}
	if unstarted != nil {
		fmt.Fprintf(os.Stderr, "oarlock-link: each instance runs the init functions anew, which takes a millisecond or more, because one cannot run ahead: %v\n", unstarted)
	}
	// By rename, so that nobody reads half a file.
	if err := os.WriteFile(to+".part", plugin, 0o644); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}
