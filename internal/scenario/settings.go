package scenario

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor"
)

// settings is what the steps `config` and `topology` set.
type settings struct {
	config        assignor.Config
	topologyGiven bool // by a step; else config.Topology is that of the last `group`, or of nothing yet
	mode          assignor.RejoinMode
	handover      assignor.HandoverMode
}

// setters has one entry for each key of the directive `config`.
var setters = map[string]func(*settings, string) error{
	"standbys":         func(s *settings, v string) error { return parseInt(v, &s.config.Standbys) },
	"maxLearners":      func(s *settings, v string) error { return parseInt(v, &s.config.MaxLearners) },
	"acceptableLag":    func(s *settings, v string) error { return parseInt(v, &s.config.AcceptableLag) },
	"imbalance":        func(s *settings, v string) error { return parseInt(v, &s.config.ImbalancePercent) },
	"learnerTimeout":   func(s *settings, v string) error { return parseDuration(v, &s.config.LearnerTimeout) },
	"scaleDownTimeout": func(s *settings, v string) error { return parseDuration(v, &s.config.ScaleDownTimeout) },
	"rejoinDelay":      func(s *settings, v string) error { return parseDuration(v, &s.config.RejoinDelay) },
	"newInstancesOnly": func(s *settings, v string) error { return parseBool(v, &s.config.NewInstancesOnly) },
	"mode":             func(s *settings, v string) error { return parseEnum(v, &s.mode, assignor.Conservative, assignor.Eager) },
	"handover": func(s *settings, v string) error {
		return parseEnum(v, &s.handover, assignor.OneRound, assignor.TwoRounds)
	},
}

// configure is the directive `config`. It replaces the keys that it names.
func (s *settings) configure(args []Arg) error {
	for _, arg := range args {
		if arg.Key == "spreadTags" { // the one key with a list, which may be empty
			s.config.SpreadTags = splitWords(strings.Join(arg.Values, ","))
			continue
		}
		set, ok := setters[arg.Key]
		if !ok {
			return fmt.Errorf("config has no key %s", arg.Key)
		}
		value, err := arg.value()
		if err != nil {
			return err
		}
		if err := set(s, value); err != nil {
			return fmt.Errorf("config %s: %w", arg.Key, err)
		}
	}
	return nil
}

// validate asks the library whether it would accept the settings. A topology that is still to come is no error yet.
func (s *settings) validate(lib library) error {
	config := s.config
	if len(config.Topology) == 0 && !s.topologyGiven {
		config.Topology = []assignor.Subtopology{{Partitions: 1}}
	}
	return lib.validate(config)
}

// setTopology is the directive `topology`: one subtopology a line.
func (s *settings) setTopology(input []Line) error {
	var topology []assignor.Subtopology
	for _, line := range input {
		sub, err := parseSubtopology(line.Text)
		if err != nil {
			return faultAt(line.Number, "%w", err)
		}
		topology = append(topology, sub)
	}
	s.config.Topology, s.topologyGiven = topology, true
	return nil
}

// deriveTopology makes the tasks of the rows one stateful subtopology, as large as it must be. It does nothing once a step
// `topology` has been there.
func (s *settings) deriveTopology(rows []row) error {
	if s.topologyGiven {
		return nil
	}
	sub := assignor.Subtopology{}
	first := true
	for _, r := range rows {
		for _, task := range r.allTasks() {
			if !first && task.Subtopology != sub.ID {
				return faultAt(r.line, "tasks of several subtopologies need a step `topology`")
			}
			if task.Partition == math.MaxInt32 {
				return faultAt(r.line, "no topology has a task %v", task)
			}
			first = false
			sub.ID, sub.Partitions = task.Subtopology, max(sub.Partitions, task.Partition+1)
		}
	}
	s.config.Topology = []assignor.Subtopology{sub}
	return nil
}

// parseSubtopology reads "0 partitions=5 stateless weight=2 cost=3,1,1,1,1".
func parseSubtopology(text string) (assignor.Subtopology, error) {
	id, args, err := parseWords(text)
	if err != nil {
		return assignor.Subtopology{}, err
	}
	var sub assignor.Subtopology
	if err := parseInt(id, &sub.ID); err != nil {
		return sub, fmt.Errorf("subtopology %q: %w", id, err)
	}
	for _, arg := range args {
		if arg.Key == "stateless" && arg.Op == "" {
			sub.Stateless = true
			continue
		}
		value, err := arg.value()
		if err != nil {
			return sub, err
		}
		switch arg.Key {
		case "partitions":
			err = parseInt(value, &sub.Partitions)
		case "weight":
			err = parseInt(value, &sub.Weight)
		case "cost":
			sub.RestoreCost, err = parseCosts(value)
		default:
			err = fmt.Errorf("want partitions, stateless, weight or cost")
		}
		if err != nil {
			return sub, fmt.Errorf("subtopology %s: %s: %w", id, arg.Key, err)
		}
	}
	return sub, nil
}

func parseCosts(text string) ([]int64, error) {
	words := strings.Split(text, ",")
	costs := make([]int64, len(words))
	for i, word := range words {
		if err := parseInt(word, &costs[i]); err != nil {
			return nil, err
		}
	}
	return costs, nil
}

// parseWords reads a line of attributes: a first word, then arguments as on a directive line.
func parseWords(text string) (first string, args []Arg, err error) {
	tokens, err := splitTokens(text)
	if err != nil {
		return "", nil, err
	}
	for _, token := range tokens[1:] {
		arg, err := parseArg(token)
		if err != nil {
			return "", nil, err
		}
		args = append(args, arg)
	}
	return tokens[0], args, nil
}

// splitWords cuts "zone,rack" at its commas. An empty text has no words.
func splitWords(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// parseInt reads a decimal number that fits the type of what it sets.
func parseInt[I int | int32 | int64 | uint8](text string, set *I) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("%q is no number", text)
	}
	if int64(I(n)) != n {
		return fmt.Errorf("%s is out of range", text)
	}
	*set = I(n)
	return nil
}

func parseDuration(text string, set *time.Duration) (err error) {
	*set, err = time.ParseDuration(text)
	return err
}

func parseBool(text string, set *bool) (err error) {
	*set, err = strconv.ParseBool(text)
	return err
}

func parseEnum[E fmt.Stringer](text string, set *E, values ...E) error {
	for _, value := range values {
		if value.String() == text {
			*set = value
			return nil
		}
	}
	return fmt.Errorf("%q: want one of %v", text, values)
}
