package oarlock_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every snippet of the README is a file of a module whose tests pass.
func TestEverySnippetOfTheREADMERuns(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	sdk, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module readme\n\ngo 1.24\n\nrequire oarlock.dev/oarlock v0.0.0\n\nreplace oarlock.dev/oarlock => "+sdk+"\n")
	snippets := regexp.MustCompile("(?ms)^```go\n// (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if fences := strings.Count(string(text), "```"); fences != 2*len(snippets) {
		t.Fatalf("%d fences, but %d snippets that name their file", fences, len(snippets))
	}
	for _, snippet := range snippets {
		write(snippet[1], snippet[2])
	}
	for _, arguments := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		command := exec.Command("go", arguments...)
		command.Dir = folder
		if said, err := command.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", arguments, err, said)
		}
	}
}
