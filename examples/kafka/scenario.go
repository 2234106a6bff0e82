package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/incremental-rebalance/assignor/internal/timeline"
)

// scenario is the life of a group that the example plays.
type scenario struct {
	settings
	out        io.Writer
	watch      *timeline.Watch
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
	for _, next := range []func() timeline.Act{
		func() timeline.Act { return s.joins("start with 2 instances", false, "a", "b") },
		func() timeline.Act { return s.joins("scale from 2 to 4", true, "c", "d") },
		func() timeline.Act { return s.swap(ctx, "a", "e") },
		func() timeline.Act { return s.killed(s.leader()) },
		func() timeline.Act { return s.drained(ctx, s.services[0].name) },
	} {
		if err := s.watch.Play(ctx, s.out, int(s.partitions), next()); err != nil {
			return err
		}
	}
	stop()
	<-produced
	return s.check(ctx)
}

func (s *scenario) joins(title string, planned bool, names ...string) timeline.Act {
	return timeline.Act{Title: title, Planned: planned, After: append(s.without(""), names...), Happens: func() error {
		return s.join(names...)
	}}
}

func (s *scenario) swap(ctx context.Context, from, to string) timeline.Act {
	return timeline.Act{Title: "swap host " + from + " for " + to, Planned: true, After: append(s.without(from), to), Happens: func() error {
		return errors.Join(s.join(to), s.drain(ctx, from))
	}}
}

func (s *scenario) killed(name string) timeline.Act {
	return timeline.Act{Title: "kill the leader", After: s.without(name), Happens: func() error { return s.kill(name) }}
}

func (s *scenario) drained(ctx context.Context, name string) timeline.Act {
	return timeline.Act{Title: "drain one of three", Planned: true, After: s.without(name), Happens: func() error {
		return s.drain(ctx, name)
	}}
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

// leader returns the instance that leads.
func (s *scenario) leader() string {
	for _, w := range s.services {
		if w.balancer.Leader() {
			return w.name
		}
	}
	return s.services[0].name
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
	s.watch.Gone(name)
	return err
}

func (s *scenario) kill(name string) error {
	s.remove(name).kill()
	s.watch.Gone(name)
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
	s.watch.Summary(s.out)
	fmt.Fprintf(s.out, "\n%d records sent, each counted exactly once: %v\n", sent, wrong == nil)
	return errors.Join(wrong, s.watch.Err(s.pause))
}

// end closes what is left.
func (s *scenario) end() {
	for _, w := range s.services {
		w.close()
	}
}
