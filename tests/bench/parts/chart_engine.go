// The yardstick of chart_engine.c: Go's text/template with Sprig, on the same files.
//
// usage: chart_engine FOLDER VALUES.json OUTPUT MILLISECONDS
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig"
)

type source struct {
	name, text string
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart_engine:", err)
		os.Exit(1)
	}
}

func readSources(folder string) []source {
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	check(err)
	sort.Strings(names)
	var sources []source
	for _, name := range names {
		text, err := os.ReadFile(name)
		check(err)
		sources = append(sources, source{filepath.Base(name), string(text)})
	}
	return sources
}

// Parses all and renders those that are no partials; include is Helm's.
func render(sources []source, values map[string]interface{}) []byte {
	root := template.New("root")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var out strings.Builder
		err := root.ExecuteTemplate(&out, name, data)
		return out.String(), err
	}
	root.Funcs(functions)
	for _, one := range sources {
		_, err := root.New(one.name).Parse(one.text)
		check(err)
	}
	var out bytes.Buffer
	top := map[string]interface{}{"Values": values}
	for _, one := range sources {
		if strings.HasPrefix(one.name, "_") {
			continue
		}
		check(root.ExecuteTemplate(&out, one.name, top))
	}
	return out.Bytes()
}

func main() {
	sources := readSources(os.Args[1])
	text, err := os.ReadFile(os.Args[2])
	check(err)
	values := map[string]interface{}{}
	check(json.Unmarshal(text, &values))
	milliseconds, err := strconv.Atoi(os.Args[4])
	check(err)
	best := time.Duration(1<<63 - 1)
	var out []byte
	for end := time.Now().Add(time.Duration(milliseconds) * time.Millisecond); time.Now().Before(end); {
		begin := time.Now()
		out = render(sources, values)
		if taken := time.Since(begin); taken < best {
			best = taken
		}
	}
	check(os.WriteFile(os.Args[3], out, 0o644))
	fmt.Println(best.Microseconds())
}
