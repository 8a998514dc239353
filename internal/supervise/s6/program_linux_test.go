package s6

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"hermes.example/hermes/internal/supervise"
)

// The user of the machines.
var hermes = supervise.User{UID: 10000, GID: 10000, Groups: []int{44}}

const (
	asHermes = "10000:10000"
	rootScan = "/run/root-service"
	itself   = "/s6.test"
)

// program is what the test itself does in a machine, as root or as the user. It ends with the code of a ControlError.
func program(words []string) int {
	err := perform(words[0], append(words[1:], "", "")[:2])
	var control *supervise.ControlError
	if errors.As(err, &control) {
		fmt.Println(err)
		return control.Code
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func perform(verb string, args []string) error {
	switch verb {
	case "prepare":
		return Prepare(Tree{Root: rootScan, User: hermes})
	case "repair":
		return Repair(args[0], hermes)
	}
	d, err := New(Options{User: &hermes})
	if err != nil {
		return err
	}
	defer d.Close()
	ctx := context.Background()
	name := args[0]
	switch verb {
	case "register":
		s := supervise.Service{Name: name, Argv: []string{"/bin/sleep", "1000"}, Dir: "/opt/data", User: &hermes, Log: "/opt/data/logs/" + name}
		return d.Register(ctx, s, args[1] == "up")
	case "unregister":
		return d.Unregister(ctx, name)
	case "start":
		return d.Start(ctx, name)
	case "stop":
		return d.Stop(ctx, name)
	case "restart":
		return d.Restart(ctx, name)
	case "status":
		st, err := d.Status(ctx, name)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(st)
	case "list":
		list, err := d.List(ctx)
		for _, st := range list {
			fmt.Println(st.Name, st.Want)
		}
		return err
	}
	return fmt.Errorf("no such verb %q", verb)
}
