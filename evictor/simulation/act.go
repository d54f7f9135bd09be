package simulation

import (
	"errors"
	"fmt"
)

// act makes an event happen for a controller.
func (p *player) act(e *Event) error {
	if e.Restart != nil {
		return errors.New("restart: only an event of the scenario can restart controllers")
	}
	action, err := e.action()
	if err != nil {
		return err
	}
	f := newFaults()
	if e.check(f); !f.none() {
		return fmt.Errorf("%s: %w", action, f.invalid())
	}
	if !e.does().machines {
		if err := p.reach(); err != nil {
			return err
		}
	}
	p.acts++
	planned := Planned{Event: e, At: p.cluster.Clock.Elapsed(), Place: Place{Number: -p.acts}}
	if err := p.happen(&planned); err != nil {
		return err
	}
	p.tellEvent(&planned)
	return nil
}
