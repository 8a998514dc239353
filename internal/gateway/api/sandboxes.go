package api

import (
	"cmp"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/internal/survey"
	"hermes.example/hermes/sandbox"
)

func (a *API) sandboxOperations() []Operation {
	return []Operation{
		{
			Method: "GET", Path: "/v1/sandboxes", ID: "listSandboxes", Tag: "sandboxes",
			Summary: "List the sandboxes of the profile",
			Answers: []Answer{{Status: 200, Description: "all of them, by task", Type: client.SandboxList{}}},
			Handle:  a.listSandboxes,
		},
		{
			Method: "PUT", Path: "/v1/sandboxes/{task}", ID: "ensureSandbox", Tag: "sandboxes",
			Summary: "Have a sandbox: find it, start it or make it",
			Detail: "Without a body, and for what the body leaves out, a sandbox that is there is taken as it is, and a new one is made as the " +
				"profile's configuration wants it. One that exists with another specification is made anew when it is idle, and otherwise refused (drift).",
			Request: &Body{Type: client.SandboxSpec{}, Optional: true},
			Answers: []Answer{{Status: 200, Description: "the sandbox runs", Type: client.Sandbox{}}},
			Errors:  []code{client.CodeForbidden, client.CodeDrift, client.CodePosture, client.CodeUnprocessable, client.CodeUnsupported},
			Handle:  a.ensureSandbox,
		},
		{
			Method: "GET", Path: "/v1/sandboxes/{task}", ID: "inspectSandbox", Tag: "sandboxes",
			Summary: "Tell what a sandbox is, who uses it and what is enforced on it",
			Answers: []Answer{{Status: 200, Description: "all that is known of it", Type: client.SandboxSheet{}}},
			Errors:  []code{client.CodeNotFound},
			Handle:  a.inspectSandbox,
		},
		{
			Method: "DELETE", Path: "/v1/sandboxes/{task}", ID: "removeSandbox", Tag: "sandboxes",
			Summary:    "Remove a sandbox, in use or not",
			Detail:     "All that runs in it is ended. Its files stay for the next sandbox of the task, unless files is true.",
			Parameters: []Parameter{{Name: "files", In: inQuery, Description: "remove what it kept, too", Type: false}},
			Answers:    []Answer{{Status: 200, Description: "it is gone", Type: client.Removed{}}},
			Errors:     []code{client.CodeNotFound},
			Handle:     a.removeSandbox,
		},
		{
			Method: "POST", Path: "/v1/sandboxes/{task}/fork", ID: "forkSandbox", Tag: "sandboxes",
			Summary: "Copy the files of an idle sandbox, at once and however many they are",
			Detail:  "It must be made of an image. Sessions go on in the original, and as copies in the forks; processes do not.",
			Request: &Body{Type: client.Fork{}},
			Answers: []Answer{{Status: 201, Description: "the copies are there", Type: client.Forked{}}},
			Errors:  []code{client.CodeNotFound, client.CodeExists, client.CodeBusy, client.CodeUnprocessable},
			Handle:  a.forkSandbox,
		},
	}
}

// mostForks is how many are made at a time.
const mostForks = 100

func (a *API) listSandboxes(w http.ResponseWriter, r *http.Request) error {
	here := a.Sandboxes.Identity("").Normal()
	infos, err := a.Sandboxes.Manager().List(r.Context(), here.Home)
	if err != nil {
		return err
	}
	infos = slices.DeleteFunc(infos, func(i sandbox.Info) bool { return i.Identity.Normal().Profile != here.Profile })
	slices.SortFunc(infos, func(x, y sandbox.Info) int { return cmp.Compare(x.Identity.Task, y.Identity.Task) })
	return answer(w, http.StatusOK, client.SandboxList{Sandboxes: survey.Ask(r.Context(), a.Sandboxes.Manager(), infos)})
}

func (a *API) ensureSandbox(w http.ResponseWriter, r *http.Request) error {
	var wanted client.SandboxSpec
	if err := decodeOptional(w, r, &wanted); err != nil {
		return err
	}
	lasts(w)
	task := r.PathValue("task")
	id := a.Sandboxes.Identity(task)
	spec, err := a.spec(wanted)
	if err != nil {
		return err
	}
	if spec != nil {
		box, err := a.Sandboxes.Obtain(r.Context(), task, spec)
		if err != nil {
			return unprocessable(err)
		}
		defer box.Close() // when there is the hold that the next request uses
	}
	if err := a.Sandboxes.Use(r.Context(), task, func(*sandbox.Sandbox) error { return nil }); err != nil {
		return unprocessable(err)
	}
	info, err := a.Sandboxes.Manager().Find(r.Context(), id)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, survey.AskOne(r.Context(), a.Sandboxes.Manager(), info))
}

func (a *API) inspectSandbox(w http.ResponseWriter, r *http.Request) error {
	lasts(w)
	m, id := a.Sandboxes.Manager(), a.Sandboxes.Identity(r.PathValue("task"))
	info, posture, err := m.Inspect(r.Context(), id)
	if err != nil {
		return err
	}
	sheet := client.SandboxSheet{Sandbox: survey.AskOne(r.Context(), a.Sandboxes.Manager(), info), Posture: posture}
	if sheet.Posture.Facts == nil {
		sheet.Posture.Facts = []sandbox.Fact{}
	}
	if sheet.Status != nil && len(sheet.Status.Sessions) > 0 {
		sheet.Sessions = make(map[string]sandbox.SessionState)
		for _, name := range sheet.Status.Sessions {
			// One that ended meanwhile has nothing to show.
			if state, err := m.SessionOf(r.Context(), id, name); err == nil {
				sheet.Sessions[name] = state
			}
		}
	}
	return answer(w, http.StatusOK, sheet)
}

func (a *API) removeSandbox(w http.ResponseWriter, r *http.Request) error {
	q := query{r: r}
	files := q.Bool("files")
	if q.err != nil {
		return q.err
	}
	lasts(w)
	task := r.PathValue("task")
	m, id := a.Sandboxes.Manager(), a.Sandboxes.Identity(task)
	_, err := m.Find(r.Context(), id)
	if errors.Is(err, sandbox.ErrNotFound) {
		kept, keepErr := m.Keeps(r.Context(), id)
		if keepErr != nil {
			return keepErr
		}
		if !kept {
			return err
		}
		if !files {
			return Problem(client.CodeNotFound, "it was removed already, and its files are kept; add files=true to remove them")
		}
	}
	if err := m.Remove(r.Context(), id, files); err != nil {
		return err
	}
	return answer(w, http.StatusOK, client.Removed{Removed: []string{task}, Files: files})
}

func (a *API) forkSandbox(w http.ResponseWriter, r *http.Request) error {
	var fork client.Fork
	if err := decode(w, r, &fork); err != nil {
		return err
	}
	if len(fork.Tasks) == 0 || len(fork.Tasks) > mostForks {
		return bad("cannot fork: name from 1 to 100 tasks")
	}
	lasts(w)
	copies := make([]sandbox.Identity, len(fork.Tasks))
	for i, task := range fork.Tasks {
		if task == "" {
			return bad("cannot fork: a task without a name")
		}
		copies[i] = a.Sandboxes.Identity(task)
	}
	m, id := a.Sandboxes.Manager(), a.Sandboxes.Identity(r.PathValue("task"))
	if _, err := m.Find(r.Context(), id); err != nil {
		return err
	}
	carried, err := m.Fork(r.Context(), id, copies)
	if err != nil {
		return unprocessable(err)
	}
	return answer(w, http.StatusCreated, client.Forked{Tasks: fork.Tasks, Carried: carried})
}

// spec is what a request wants of a sandbox; nil if it wants nothing. Files of the host are not among it: whoever has the
// key is not thereby somebody of this machine.
func (a *API) spec(wanted client.SandboxSpec) (*sandbox.Spec, error) {
	if reflect.ValueOf(wanted).IsZero() {
		return nil, nil
	}
	spec := &sandbox.Spec{Env: wanted.Env, Require: wanted.Require, Ephemeral: !a.Sandboxes.KeepsFiles()}
	set(&spec.Cwd, wanted.Cwd)
	set(&spec.Ephemeral, wanted.Ephemeral)
	choose := func(name string, given bool) {
		if given && a.Sandboxes.Containers() {
			spec.Chosen = append(spec.Chosen, name)
		}
	}
	choose("image", set(&spec.Image, wanted.Image))
	choose("user", set(&spec.User, wanted.User))
	choose("network", set((*string)(&spec.Network), wanted.Network))
	choose("cpus", set(&spec.Limits.CPUs, wanted.CPUs))
	choose("memory", set(&spec.Limits.Memory, wanted.Memory))
	choose("pids", set(&spec.Limits.Pids, wanted.Pids))
	if spec.Image != "" && !a.Sandboxes.Containers() {
		source, err := image.Parse(spec.Image)
		if err != nil {
			return nil, bad(err.Error())
		}
		if source.IsFile() {
			return nil, Problem(client.CodeForbidden, "cannot make a sandbox of "+quote(spec.Image)+": a file of the gateway's machine is not for its callers; name an image of a registry, or make the sandbox there with hermes sandbox exec --image")
		}
		spec.Image = source.String()
	}
	if err := spec.Validate(); err != nil {
		return nil, bad("cannot make a sandbox: " + err.Error())
	}
	return spec, nil
}

func set[T any](to *T, value *T) bool {
	if value != nil {
		*to = *value
	}
	return value != nil
}
