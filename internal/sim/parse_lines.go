package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// set applies keys of config, of costs, and those of a variant alone.
func (v *Variant) set(args []string) error {
	c, costs := &v.Config, &v.Costs
	return setters{
		"standbys":         intTo(&c.Standbys),
		"maxLearners":      intTo(&c.MaxLearners),
		"acceptableLag":    intTo(&c.AcceptableLag),
		"imbalance":        intTo(&c.ImbalancePercent),
		"learnerTimeout":   timeTo(&c.LearnerTimeout),
		"scaleDownTimeout": timeTo(&c.ScaleDownTimeout),
		"rejoinDelay":      timeTo(&c.RejoinDelay),
		"newInstancesOnly": flagTo(&c.NewInstancesOnly),
		"spreadTags":       func(s string) error { c.SpreadTags = strings.Split(s, ","); return nil },
		"rejoin":           oneOf(&v.Rejoin, []string{"conservative", "eager"}),
		"handover":         oneOf(&v.Handover, []string{"oneRound", "twoRounds"}),
		"protocol":         oneOf(&v.Protocol, protocolNames[:]),
		"static":           flagTo(&v.Static),
		"restore":          bytesTo(&costs.Restore),
		"broker":           bytesTo(&costs.Broker),
		"learnersFirst":    flagTo(&costs.Learners),
		"record":           bytesTo(&costs.Record),
		"heartbeat":        timeTo(&costs.Heartbeat),
		"session":          timeTo(&costs.Session),
		"poll":             timeTo(&costs.Poll),
		"sync":             timeTo(&costs.Sync),
		"open":             timeTo(&costs.Open),
		"probe":            timeTo(&costs.Probe),
		"warmups":          intTo(&costs.Warmups),
	}.apply(args)
}

// parseInstances reads a count and what the instances are like.
func parseInstances(args []string) ([]Instance, error) {
	if len(args) == 0 {
		return nil, errors.New("how many?")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 || n > 10_000 {
		return nil, fmt.Errorf("%q is no number of instances", args[0])
	}
	var like Instance
	var zones []string
	err = setters{
		"capacity": intTo(&like.Capacity),
		"zones":    func(s string) error { zones = strings.Split(s, ","); return nil },
		"static":   flagTo(&like.Static),
		"restore":  bytesTo(&like.Restore),
	}.apply(args[1:])
	list := make([]Instance, n)
	for i := range list {
		list[i] = like
		if len(zones) > 0 {
			list[i].Zone = zones[i%len(zones)]
		}
	}
	return list, err
}

func (p *parser) tasks(args []string) error {
	if len(args) == 0 {
		return errors.New("a subtopology needs an id")
	}
	id, err := strconv.ParseInt(args[0], 10, 32)
	if err != nil {
		return fmt.Errorf("%q is no id of a subtopology", args[0])
	}
	t := Tasks{ID: int32(id)}
	err = setters{
		"partitions": intTo(&t.Partitions),
		"size":       func(s string) error { return parseSizes(s, &t) },
		"write":      bytesTo(&t.Write),
		"grow":       bytesTo(&t.Grow),
		"weight":     intTo(&t.Weight),
		"stateless":  flagTo(&t.Stateless),
		"unranked":   flagTo(&t.Unranked),
	}.apply(args[1:])
	p.spec.Tasks = append(p.spec.Tasks, t)
	return err
}

// parseSizes reads a size, or a range of sizes as in 2GB..20GB.
func parseSizes(s string, t *Tasks) (err error) {
	low, high, isRange := strings.Cut(s, "..")
	if !isRange {
		high = low
	}
	if t.MinSize, err = parseBytes(low); err != nil {
		return err
	}
	t.MaxSize, err = parseBytes(high)
	return err
}

func (p *parser) event(args []string) error {
	if len(args) < 2 {
		return errors.New("want a time and what happens")
	}
	at, err := parseTime(args[0])
	if err != nil {
		return err
	}
	e := Event{At: at, Times: 1, Label: strings.Join(args[1:], " ")}
	if err := oneOf(&e.Kind, kindNames[:])(args[1]); err != nil {
		return err
	}
	if err := e.parse(args[2:]); err != nil {
		return err
	}
	p.spec.Events = append(p.spec.Events, e)
	return nil
}

// parse reads what stands behind the kind.
func (e *Event) parse(args []string) (err error) {
	switch e.Kind {
	case Start:
		return errors.New("the start is no event")
	case Add:
		e.Instances, err = parseInstances(args)
		return err
	case Swap:
		e.Instances, err = parseInstances(args)
		e.Count = len(e.Instances)
		return err
	}
	keys := setters{
		"zone":  func(s string) error { e.Zone = s; return nil },
		"phase": oneOf(&e.Phase, phaseNames[:]),
		"times": intTo(&e.Times),
		"down":  timeTo(&e.Down),
		"gap":   timeTo(&e.Gap),
		"disk":  func(s string) error { e.DiskLost = s == "lost"; return nil },
	}
	for _, arg := range args {
		switch {
		case strings.Contains(arg, "="):
			err = keys.apply([]string{arg})
		case arg == "leader":
			e.Leader = true
		default:
			err = e.addNames(arg)
		}
		if err != nil {
			return err
		}
	}
	return e.check()
}

// addNames adds S3, or all of S4..S8.
func (e *Event) addNames(arg string) error {
	low, high, isRange := strings.Cut(arg, "..")
	if !isRange {
		high = low
	}
	first, err1 := strconv.Atoi(strings.TrimPrefix(low, "S"))
	last, err2 := strconv.Atoi(strings.TrimPrefix(high, "S"))
	if err1 != nil || err2 != nil || first < 1 || last < first || last > 10_000 {
		return fmt.Errorf("%q names no instances: want S3 or S4..S8", arg)
	}
	for n := first; n <= last; n++ {
		e.Names = append(e.Names, fmt.Sprintf("S%d", n))
	}
	return nil
}

// check finds what an event lacks.
func (e *Event) check() error {
	named := len(e.Names) > 0 || e.Zone != "" || e.Leader
	switch {
	case e.Kind != Roll && !named:
		return fmt.Errorf("%s whom?", kindNames[e.Kind])
	case (e.Kind == Restart || e.Kind == Roll || e.Kind == Flap) && e.Down == 0:
		return errors.New("down= for how long?")
	case e.Kind == Flap && e.Gap == 0:
		return errors.New("gap= for how long is it up?")
	case e.Times < 1 || e.Times > 10_000:
		return fmt.Errorf("times=%d, want 1 to 10000", e.Times)
	}
	return nil
}
