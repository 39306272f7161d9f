//go:build linux

// Package pool holds connections.
package pool

import (
	"errors"
	"fmt"
	"sync"
)

// ErrEmpty says that nothing is free.
var ErrEmpty = errors.New("empty")

type State int

const (
	Open State = iota
	Closed
	Broken
)

const help = `usage: pool
// no comment
`

type Pool struct {
	mu    sync.Mutex
	free  []int
	limit int `json:"limit"`
}

func New(limit int) *Pool {
	return &Pool{
		free:  make([]int, 0, limit),
		limit: limit,
	}
}

// Get gives a connection.
func (p *Pool) Get() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		return 0, fmt.Errorf("limit %d: %w", p.limit, ErrEmpty)
	}
	first := p.free[0]
	p.free = p.free[1:]
	switch {
	case first < 0:
		return 0, ErrEmpty
	default:
		return first, nil
	}
}
