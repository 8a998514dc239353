package cli

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strconv"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
)

// giveDoor gives a profile what its gateway needs beside the others': a port that no profile has, and a key of
// its own. What stands in its file of variables already stays. At a boot the gateways of many profiles may ask at once.
func giveDoor(home *profile.Home, name string) (port int, err error) {
	defer home.Turn()()
	names, _, err := home.List()
	if err != nil {
		return 0, err
	}
	taken := make(map[int]bool)
	for _, other := range append(names, profile.Default) {
		if other != name {
			door, _ := doorOf(home.Dir(other))
			taken[door.Port] = true
		}
	}
	own := home.Dir(name)
	door, err := doorOf(own)
	if err != nil { // what stands there may be a key
		return 0, fmt.Errorf("cannot give its gateway a key: %w", err)
	}
	if port = door.Port; taken[port] {
		for port = config.DefaultGatewayPort + 1; taken[port]; port++ {
		}
		if err := config.SetVariable(own, "API_SERVER_PORT", strconv.Itoa(port)); err != nil {
			return 0, err
		}
	}
	if door.Key.Reveal() == "" {
		key := make([]byte, 32)
		rand.Read(key) // it never fails
		err = config.SetVariable(own, "API_SERVER_KEY", hex.EncodeToString(key))
	}
	if err != nil {
		return 0, fmt.Errorf("cannot give its gateway a key: %w", err)
	}
	return port, nil
}

// lacksDoor says whether a profile was never given what its gateway needs: one that was made from outside, or by a
// version before this one. In a container its gateway could not listen, or would listen where the default one does.
func lacksDoor(name string, s config.Gateway) bool {
	return name != profile.Default && (s.Key.Reveal() == "" || s.Port == config.DefaultGatewayPort)
}

// doorOf is what a home's own files say of its gateway, as far as they can be understood: who runs it will say what is
// wrong with them.
func doorOf(home string) (config.Gateway, error) {
	lookup, _, err := config.WithEnvFile(func(name string) (string, bool) {
		if name == "HERMES_HOME" {
			return home, true
		}
		return "", false
	})
	if err != nil {
		return config.Gateway{}, err
	}
	c, err := config.Load(lookup)
	if err != nil {
		return config.Gateway{}, err
	}
	return c.Gateway()
}
