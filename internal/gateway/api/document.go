package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"hermes.example/hermes/client"
)

// Document is the OpenAPI 3.1 document of the table, as it is served and kept in docs/openapi.json.
func Document() []byte { return encode((&API{}).Operations()) }

func encode(operations []Operation) []byte {
	d := &document{schemas: make(map[string]any), types: make(map[string]reflect.Type)}
	paths := make(map[string]map[string]any)
	for _, o := range operations {
		path := rest.ReplaceAllString(o.Path, "}")
		if paths[path] == nil {
			paths[path] = make(map[string]any)
		}
		paths[path][strings.ToLower(o.Method)] = d.operation(o)
	}
	text, err := json.MarshalIndent(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title":       "Hermes gateway",
			"version":     "1",
			"summary":     "Sandboxes, files, processes and add-ons of one profile.",
			"description": "Every route but /health needs the profile's key: Authorization: Bearer API_SERVER_KEY. Errors are application/problem+json (RFC 9457) with a code.",
			"license":     map[string]any{"name": "see the project", "identifier": "Apache-2.0"},
		},
		"servers":  []any{map[string]any{"url": "http://127.0.0.1:8642"}},
		"security": []any{map[string]any{"key": []string{}}},
		"tags":     tags,
		"paths":    paths,
		"components": map[string]any{
			"schemas":         d.schemas,
			"securitySchemes": map[string]any{"key": map[string]any{"type": "http", "scheme": "bearer"}},
		},
	}, "", "  ")
	if err != nil {
		panic("api: the table cannot be written down: " + err.Error())
	}
	return append(text, '\n')
}

// tags are the sections of the document.
var tags = []map[string]string{
	{"name": "gateway", "description": "The gateway itself."},
	{"name": "sandboxes", "description": "Sandboxes of the profile, by task."},
	{"name": "exec", "description": "Commands in a sandbox."},
	{"name": "files", "description": "Files of a sandbox, with its commands' rights."},
	{"name": "processes", "description": "Background processes of a sandbox."},
	{"name": "addons", "description": "Opt-in backends and their tools."},
}

// rest is what http.ServeMux writes after the name of a parameter that takes all that is left.
var rest = regexp.MustCompile(`\.\.\.\}`)

var inBraces = regexp.MustCompile(`\{([a-z]+)(\.\.\.)?\}`)

// document collects the schemas that the operations use.
type document struct {
	schemas map[string]any
	types   map[string]reflect.Type
}

func (d *document) operation(o Operation) map[string]any {
	out := map[string]any{"operationId": o.ID, "summary": o.Summary, "tags": []string{o.Tag}, "responses": d.responses(o)}
	if o.Detail != "" {
		out["description"] = o.Detail
	}
	if parameters := d.parameters(o); len(parameters) > 0 {
		out["parameters"] = parameters
	}
	if o.Request != nil {
		out["requestBody"] = map[string]any{"required": !o.Request.Optional, "content": d.content(o.Request.Type, o.Request.Media, nil)}
	}
	if o.Open {
		out["security"] = []any{}
	}
	return out
}

// pathParameters is what is said of those that many routes have.
var pathParameters = map[string]string{
	"task":    "the task whose sandbox is meant",
	"id":      "the id that it was given when it started",
	"path":    "an absolute path inside, without its first slash",
	"feature": "the name of an add-on",
	"tool":    "the name of a tool",
}

func (d *document) parameters(o Operation) []any {
	var out []any
	for _, m := range inBraces.FindAllStringSubmatch(o.Path, -1) {
		if !slices.ContainsFunc(o.Parameters, func(p Parameter) bool { return p.In == inPath && p.Name == m[1] }) {
			out = append(out, d.parameter(Parameter{Name: m[1], In: inPath, Description: pathParameters[m[1]], Required: true}))
		}
	}
	for _, p := range o.Parameters {
		out = append(out, d.parameter(p))
	}
	return out
}

func (d *document) parameter(p Parameter) map[string]any {
	kind := p.Type
	if kind == nil {
		kind = ""
	}
	out := map[string]any{"name": p.Name, "in": p.In, "required": p.Required, "schema": d.schema(reflect.TypeOf(kind))}
	if p.Description != "" {
		out["description"] = p.Description
	}
	return out
}

// general are the problems that every operation behind the key may have.
var general = []code{client.CodeUnauthorized, client.CodeForeignOrigin, client.CodeForeignHost, client.CodeTooMany, client.CodeOverloaded, client.CodeInternal}

func (d *document) responses(o Operation) map[string]any {
	out := make(map[string]any)
	for _, a := range o.Answers {
		key := strconv.Itoa(a.Status)
		content := d.content(a.Type, a.Media, a.Events)
		if before, ok := out[key].(map[string]any); ok { // the same in another form
			for media, schema := range content {
				before["content"].(map[string]any)[media] = schema
			}
			continue
		}
		answer := map[string]any{"description": a.Description}
		if len(content) > 0 {
			answer["content"] = content
		}
		out[key] = answer
	}
	codes := append([]code{}, o.Errors...)
	if o.Open {
		codes = append(codes, client.CodeForeignOrigin, client.CodeForeignHost)
	} else {
		codes = append(codes, general...)
	}
	codes = append(codes, client.CodeBadRequest)
	if o.Request != nil {
		codes = append(codes, client.CodeTooLarge, client.CodeMediaType)
	}
	d.problems(out, codes)
	return out
}

// problems adds the answers to what can go wrong, those of one status together.
func (d *document) problems(out map[string]any, codes []code) {
	slices.Sort(codes)
	words := make(map[int][]string)
	for _, c := range slices.Compact(codes) {
		k := kinds[c]
		words[k.status] = append(words[k.status], fmt.Sprintf("%s (%s)", k.title, c))
	}
	problem := d.content(client.Problem{}, mediaProblem, nil)
	for status, reasons := range words {
		key := strconv.Itoa(status)
		if before, ok := out[key].(map[string]any); ok {
			content, _ := before["content"].(map[string]any)
			if content == nil {
				content = make(map[string]any)
				before["content"] = content
			}
			content[mediaProblem] = problem[mediaProblem]
			continue
		}
		answer := map[string]any{"description": strings.Join(reasons, "; "), "content": problem}
		if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
			answer["headers"] = map[string]any{"Retry-After": map[string]any{"description": "seconds", "schema": map[string]any{"type": "integer"}}}
		}
		out[key] = answer
	}
}

// content is a body in one form. Bytes have no schema.
func (d *document) content(kind any, media string, events []Event) map[string]any {
	switch {
	case len(events) > 0:
		of := make(map[string]any)
		for _, e := range events {
			of[e.Name] = map[string]any{"description": e.Description, "data": d.schema(reflect.TypeOf(e.Type))}
		}
		return map[string]any{mediaEvents: map[string]any{"schema": map[string]any{"type": "string"}, "x-events": of}}
	case kind != nil && media == "":
		media = mediaJSON
		fallthrough
	case kind != nil:
		return map[string]any{media: map[string]any{"schema": d.schema(reflect.TypeOf(kind))}}
	case media != "":
		return map[string]any{media: map[string]any{}}
	}
	return nil
}

// known are types whose JSON is not what their Go looks like.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	reflect.TypeFor[time.Duration]():   {Type: "integer", Description: "nanoseconds"},
	reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	reflect.TypeFor[json.RawMessage](): {},
}

// schema of a type. That of a named struct stands among the components, under its name, and so do those in it.
func (d *document) schema(t reflect.Type) any {
	if isComponent(t) {
		return map[string]any{"$ref": d.component(t)}
	}
	return d.infer(t)
}

func isComponent(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.Name() != "" && known[t] == nil
}

// component describes a struct among the components, if it is not there yet, and says where it is.
func (d *document) component(t reflect.Type) string {
	name := t.Name()
	switch other, taken := d.types[name]; {
	case taken && other != t:
		panic(fmt.Sprintf("api: %s and %s have the same name in the document", t, other))
	case !taken:
		d.types[name] = t
		d.schemas[name] = d.infer(t)
	}
	return "#/components/schemas/" + name
}

func (d *document) infer(t reflect.Type) *jsonschema.Schema {
	types := maps.Clone(known)
	d.collect(t, types)
	delete(types, t)
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: types})
	if err != nil {
		panic("api: " + t.String() + " has no schema: " + err.Error())
	}
	return s
}

// collect makes references of the structs that a type is made of. What is embedded is part of what embeds it.
func (d *document) collect(t reflect.Type, types map[reflect.Type]*jsonschema.Schema) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		if e := t.Elem(); isComponent(e) {
			types[e] = &jsonschema.Schema{Ref: d.component(e)}
		} else {
			d.collect(e, types)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			switch {
			case !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-":
			case isComponent(f.Type) && !f.Anonymous:
				types[f.Type] = &jsonschema.Schema{Ref: d.component(f.Type)}
			default:
				d.collect(f.Type, types)
			}
		}
	}
}
