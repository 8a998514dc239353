package keeper

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"hermes.example/hermes/internal/addon/backend"
)

// OrHere calls through a keeper, and where none can be had with a pool of this process. Its life: any number of calls
// from any goroutine, Close.
type OrHere struct {
	Keeper
	// Here makes the pool of this process, when it is first needed.
	Here func() (Pool, error)
	// Cold is told once why there is no keeper.
	Cold func(error)

	once sync.Once
	pool Pool
	err  error
}

// Call has a tool called.
func (o *OrHere) Call(ctx context.Context, feature, tool string, arguments json.RawMessage, variables map[string]string) (backend.Result, error) {
	result, err := o.Keeper.Call(ctx, feature, tool, arguments, variables)
	if !isUnreachable(err) {
		return result, err
	}
	pool, err := o.here(err)
	if err != nil {
		return backend.Result{}, err
	}
	return pool.Call(ctx, feature, tool, arguments, variables)
}

// Tools asks a backend for its tools.
func (o *OrHere) Tools(ctx context.Context, feature string, variables map[string]string) ([]backend.Tool, error) {
	tools, err := o.Keeper.Tools(ctx, feature, variables)
	if !isUnreachable(err) {
		return tools, err
	}
	pool, err := o.here(err)
	if err != nil {
		return nil, err
	}
	return pool.Tools(ctx, feature, variables)
}

func isUnreachable(err error) bool {
	var none *UnreachableError
	return errors.As(err, &none)
}

// here is the pool of this process.
func (o *OrHere) here(why error) (Pool, error) {
	o.once.Do(func() {
		o.Cold(why)
		o.pool, o.err = o.Here()
	})
	return o.pool, o.err
}

// Close ends the backends of this process, if there are any. Those of the keeper stay.
func (o *OrHere) Close() {
	o.once.Do(func() {})
	if o.pool != nil {
		o.pool.Close()
	}
}
