package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// scenario is the life of a group that the example plays.
type scenario struct {
	settings
	out        io.Writer
	watch      *watch
	partitions int32
	pause      time.Duration // how long a planned event may pause a task
	services   []*service
	producer   *producer
}

// play lets everything happen, one event after the other, while the producer never stops, and checks the result.
func (s *scenario) play(ctx context.Context) error {
	produce, stop := context.WithCancel(ctx)
	defer stop()
	s.producer.send(ctx, 2000*int(s.partitions))
	produced := make(chan struct{})
	go func() {
		defer close(produced)
		s.producer.run(produce, 1000)
	}()
	acts := []struct {
		title   string
		planned bool
		after   []string
		happens func() error
	}{
		{"start with 2 instances", false, []string{"a", "b"}, func() error { return s.join("a", "b") }},
		{"scale from 2 to 4", true, []string{"a", "b", "c", "d"}, func() error { return s.join("c", "d") }},
		{"swap host a for e", true, []string{"b", "c", "d", "e"}, func() error { return errors.Join(s.join("e"), s.drain(ctx, "a")) }},
		{"kill the leader", false, nil, func() error { return s.kill(s.leader()) }},
		{"drain one of three", true, nil, func() error { return s.drain(ctx, s.first()) }},
	}
	for i, act := range acts {
		switch i {
		case 3:
			act.after = s.without(s.leader())
		case 4:
			act.after = s.without(s.first())
		}
		if err := s.act(ctx, act.title, act.planned, act.after, act.happens); err != nil {
			return err
		}
	}
	stop()
	<-produced
	return s.check(ctx)
}

// without returns the instances but for one.
func (s *scenario) without(gone string) []string {
	var names []string
	for _, w := range s.services {
		if w.name != gone {
			names = append(names, w.name)
		}
	}
	return names
}

func (s *scenario) first() string { return s.services[0].name }

// leader returns the instance that leads.
func (s *scenario) leader() string {
	for _, w := range s.services {
		if w.balancer.Leader() {
			return w.name
		}
	}
	return s.first()
}

// act lets an event happen and waits until the group has come to rest.
func (s *scenario) act(ctx context.Context, title string, planned bool, after []string, happens func() error) error {
	fmt.Fprintf(s.out, "\n%6.1fs  --- %s\n", time.Since(s.watch.begun).Seconds(), title)
	s.watch.begins(title, planned, after)
	if err := happens(); err != nil {
		return fmt.Errorf("%s: %w", title, err)
	}
	for deadline := time.Now().Add(time.Minute); !s.watch.settled(int(s.partitions), after); {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("%s: the group does not come to rest", title)
		}
		sleep(ctx, 20*time.Millisecond)
	}
	s.watch.ends()
	sleep(ctx, 300*time.Millisecond)
	s.watch.table(s.out)
	return nil
}

func (s *scenario) join(names ...string) error {
	for _, name := range names {
		w, err := start(name, s.settings)
		if err != nil {
			return err
		}
		s.services = append(s.services, w)
	}
	return nil
}

// remove forgets an instance, and returns it.
func (s *scenario) remove(name string) *service {
	i := slices.IndexFunc(s.services, func(w *service) bool { return w.name == name })
	w := s.services[i]
	s.services = slices.Delete(s.services, i, i+1)
	return w
}

func (s *scenario) drain(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	err := s.remove(name).drain(ctx)
	s.watch.gone(name)
	return err
}

func (s *scenario) kill(name string) error {
	s.remove(name).kill()
	s.watch.gone(name)
	return nil
}

// check waits until everything that was sent is counted, and says what is wrong.
func (s *scenario) check(ctx context.Context) error {
	var wrong error
	sent := 0
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); sleep(ctx, 50*time.Millisecond) {
		counted := map[int32]map[string]int64{}
		for _, w := range s.services {
			for partition, counts := range w.counts() {
				counted[partition] = counts
			}
		}
		if sent, wrong = s.producer.check(counted); wrong == nil {
			break
		}
	}
	summary(s.out, s.watch.past)
	fmt.Fprintf(s.out, "\n%d records sent, each counted exactly once: %v\n", sent, wrong == nil)
	problems := []error{wrong}
	for _, v := range s.watch.violations() {
		problems = append(problems, errors.New(v))
	}
	for _, e := range s.watch.past {
		if e.planned && e.longest > s.pause {
			problems = append(problems, fmt.Errorf("%s: a task paused for %v, want at most %v", e.title, e.longest, s.pause))
		}
	}
	return errors.Join(problems...)
}

// end closes what is left.
func (s *scenario) end() {
	for _, w := range s.services {
		w.close()
	}
}
