package containerargs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hermes.example/hermes/sandbox"
)

// device reads SOURCE[:TARGET][:ACCESS].
func (p *parser) device(text string) error {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return errors.New("it is not SOURCE[:TARGET][:rwm]")
	}
	if !strings.HasPrefix(parts[0], "/") {
		return errors.New("only paths of devices are part of a sandbox; write /dev/…")
	}
	d := sandbox.Device{Source: parts[0], Target: parts[0], Access: "rwm"}
	switch {
	case len(parts) == 3:
		d.Target, d.Access = parts[1], parts[2]
	case len(parts) == 2 && strings.HasPrefix(parts[1], "/"):
		d.Target = parts[1]
	case len(parts) == 2:
		d.Access = parts[1]
	}
	p.container.Devices = append(p.container.Devices, d)
	return nil
}

// gpus reads "all", a number, or KEY=VALUE,… as a line of CSV.
func (p *parser) gpus(text string) error {
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return errors.New(`it is neither "all" nor a number nor KEY=VALUE,…`)
	}
	g := new(sandbox.GPUs)
	for i, field := range fields {
		key, value, given := strings.Cut(field, "=")
		if !given && i == 0 {
			key, value = "count", field
		}
		switch key {
		case "count":
			if g.Count, err = strconv.Atoi(value); value == "all" {
				g.Count, err = -1, nil
			}
			if err != nil || g.Count < -1 || g.Count == 0 {
				return fmt.Errorf(`%q is neither "all" nor a number of GPUs`, value)
			}
		case "device":
			g.IDs = strings.Split(value, ",")
		case "driver":
			g.Driver = value
		case "capabilities":
			g.Capabilities = strings.Split(value, ",")
		default:
			return fmt.Errorf("its field %q is not part of a sandbox; leave it out", key)
		}
	}
	if g.Count == 0 && len(g.IDs) == 0 {
		g.Count = 1 // as Docker has it
	}
	p.container.GPUs = g
	return nil
}
