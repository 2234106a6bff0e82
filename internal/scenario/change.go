package scenario

import (
	"fmt"
	"time"
)

// change is what the arguments of `rebalance` say.
type change struct {
	crash, join, leaving, staying []string
	leavingFor                    time.Duration
	leavingForGiven               bool
	since                         time.Duration
	ready                         []row
	memory                        string // "", "none" or "recovered"
}

// parseChange reads the arguments of `rebalance`.
func parseChange(args []Arg) (change, error) {
	var c change
	for _, arg := range args {
		if err := c.set(arg); err != nil {
			return change{}, fmt.Errorf("rebalance %s: %w", arg.Key, err)
		}
	}
	return c, nil
}

func (c *change) set(arg Arg) (err error) {
	switch arg.Key {
	case "crash":
		c.crash, err = arg.list()
	case "join":
		c.join, err = arg.list()
	case "leaving":
		c.leaving, err = arg.list()
	case "staying":
		c.staying, err = arg.list()
	case "leavingFor":
		c.leavingForGiven = true
		err = setDuration(arg, &c.leavingFor)
	case "since":
		err = setDuration(arg, &c.since)
	case "ready":
		c.ready, err = parseReady(arg)
	case "memory":
		c.memory, err = arg.value()
		if err == nil && c.memory != "none" && c.memory != "recovered" {
			err = fmt.Errorf("%q: want none or recovered", c.memory)
		}
	default:
		err = fmt.Errorf("no such argument")
	}
	return err
}

func setDuration(arg Arg, set *time.Duration) error {
	value, err := arg.value()
	if err != nil {
		return err
	}
	return parseDuration(value, set)
}

// parseReady reads "(S3[T1, T2], S4[T3])".
func parseReady(arg Arg) ([]row, error) {
	texts, err := arg.list()
	if err != nil {
		return nil, err
	}
	var rows []row
	for _, text := range texts {
		r, err := parseRow(text)
		if err != nil {
			return nil, err
		}
		if !r.groupForm {
			return nil, fmt.Errorf("%q: want a member and its tasks, as in S3[T1, T2]", text)
		}
		rows = append(rows, r)
	}
	return rows, nil
}
