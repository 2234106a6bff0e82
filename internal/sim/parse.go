package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// Parse reads a spec. A file is lines of a word and its arguments; name is for the errors, which say name:line. Comments (#)
// and empty lines may stand anywhere, and the comment that comes first is the title.
//
//	instances 10 [capacity=2] [zones=a,b,c] [static] [restore=80MB/s]
//	subtopology 0 partitions=100 [size=10GB or size=2GB..20GB] [write=200KB/s] [grow=10KB/s] [weight=2] [stateless] [unranked]
//	config standbys=1 maxLearners=0 acceptableLag=10000 learnerTimeout=0s scaleDownTimeout=0s rejoinDelay=5m
//	       imbalance=0 newInstancesOnly spreadTags=zone rejoin=conservative|eager handover=oneRound|twoRounds static
//	costs restore=50MB/s broker=0 record=1KB heartbeat=3s session=45s poll=100ms sync=300ms open=500ms
//	       probe=10m warmups=2 learnersFirst
//	variant NAME [protocol=learners|stop-the-world|cooperative-sticky|warm-up] [any key of config or costs]
//	seed 1
//	end 24h
//	at 10m add 2 [capacity= zones= static restore=]
//	at 10m drain S1 S4..S6
//	at 10m stay S1
//	at 10m crash S3 [disk=lost]        or: crash zone=c, crash leader [phase=join|sync|learn]
//	at 10m restart S3 down=30s [disk=lost]
//	at 10m roll down=30s gap=10s [disk=lost]
//	at 10m flap S3 times=5 down=20s gap=2m
//	at 10m swap 20
//
// Instances are named S1, S2, ... in order of appearance; the zones of a line are dealt out in turn, and are the tag "zone" of
// the members. Events of one time happen in the order of the file. A variant starts from what config and costs say; without
// any there is one, named learners. Sizes are in B, KB, MB, GB, TB (powers of 1000). A lag is in records.
func Parse(name string, text []byte) (*Spec, error) {
	p := &parser{spec: &Spec{Seed: 1, End: 24 * time.Hour}}
	p.base = Variant{Name: Learners.String(), Costs: DefaultCosts}
	p.base.Config.AcceptableLag = assignor.DefaultAcceptableLag
	var errs []error
	for i, line := range strings.Split(string(text), "\n") {
		if err := p.line(strings.TrimSpace(line)); err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, i+1, err))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return p.finish(name)
}

// parser collects a spec. Variants are applied last, so that config may stand behind them.
type parser struct {
	spec     *Spec
	base     Variant
	variants [][]string
	titled   bool
}

func (p *parser) line(line string) error {
	if comment, ok := strings.CutPrefix(line, "#"); ok || line == "" {
		if !p.titled && ok {
			p.spec.Title = strings.TrimSpace(p.spec.Title + " " + strings.TrimSpace(comment))
		}
		p.titled = p.titled || p.spec.Title != "" && !ok
		return nil
	}
	p.titled = true
	line, _, _ = strings.Cut(line, " #")
	words := strings.Fields(line)
	args := words[1:]
	switch words[0] {
	case "instances":
		list, err := parseInstances(args)
		p.spec.Instances = append(p.spec.Instances, list...)
		return err
	case "subtopology":
		return p.tasks(args)
	case "config", "costs":
		return p.base.set(args)
	case "variant":
		if len(args) == 0 {
			return errors.New("a variant needs a name")
		}
		p.variants = append(p.variants, args)
		return new(Variant).set(args[1:])
	case "seed":
		return parseOne(args, func(s string) (err error) { p.spec.Seed, err = strconv.ParseInt(s, 10, 64); return })
	case "end":
		return parseOne(args, func(s string) (err error) { p.spec.End, err = parseTime(s); return })
	case "at":
		return p.event(args)
	}
	return fmt.Errorf("no such word: %s", words[0])
}

func (p *parser) finish(name string) (*Spec, error) {
	s := p.spec
	s.Config, s.Costs = p.base.Config, p.base.Costs
	for _, args := range p.variants {
		v := p.base
		v.Name = args[0]
		if err := v.set(args[1:]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		s.Variants = append(s.Variants, v)
	}
	if len(s.Variants) == 0 {
		s.Variants = []Variant{p.base}
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

func parseOne(args []string, parse func(string) error) error {
	if len(args) != 1 {
		return errors.New("want one argument")
	}
	return parse(args[0])
}

// setters maps the keys of a line to what sets them; a flag without a value is set with "".
type setters map[string]func(value string) error

// apply sets what args say, in their order.
func (s setters) apply(args []string) error {
	for _, arg := range args {
		key, value, _ := strings.Cut(arg, "=")
		set, ok := s[key]
		if !ok {
			return fmt.Errorf("no such key: %s", key)
		}
		if err := set(value); err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
	}
	return nil
}

func intTo[T ~int | ~int32 | ~int64](to *T) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseInt(s, 10, 32)
		*to = T(n)
		return err
	}
}

func timeTo(to *time.Duration) func(string) error {
	return func(s string) (err error) { *to, err = parseTime(s); return }
}

func bytesTo(to *int64) func(string) error {
	return func(s string) (err error) { *to, err = parseBytes(strings.TrimSuffix(s, "/s")); return }
}

func flagTo(to *bool) func(string) error {
	return func(s string) error {
		*to = s != "false"
		if s != "" && s != "true" && s != "false" {
			return errors.New("want true or false")
		}
		return nil
	}
}

// oneOf sets the index of the value in names.
func oneOf[E ~uint8](to *E, names []string) func(string) error {
	return func(s string) error {
		i := slices.Index(names, s)
		if i < 0 {
			return fmt.Errorf("want one of %s", strings.Join(names, ", "))
		}
		*to = E(i)
		return nil
	}
}

// parseTime reads a duration of whole milliseconds, not negative.
func parseTime(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if s == "0" {
		d, err = 0, nil
	}
	if err != nil || d < 0 || d%time.Millisecond != 0 {
		return 0, fmt.Errorf("%q is no time of whole milliseconds, such as 10m", s)
	}
	return d, nil
}

// parseBytes reads a size such as 10GB.
func parseBytes(s string) (int64, error) {
	digits := strings.TrimRight(s, "BKMGT")
	scale, ok := map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[s[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > 1e15/scale {
		return 0, fmt.Errorf("%q is no size up to 1000TB, such as 10GB", s)
	}
	return n * scale, nil
}
