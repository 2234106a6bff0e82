package main

import (
	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/incremental-rebalance/assignor/internal/timeline"
)

// seen is a watcher that tells the timeline what an instance does.
type seen struct{ *timeline.Watch }

func (s seen) started(name string, task assignor.TaskID) { s.Started(name, task) }
func (s seen) stopped(name string, task assignor.TaskID) { s.Stopped(name, task) }
func (s seen) round(franz.Round)                         { s.Round() }
func (s seen) processed(name string, n int)              { s.Processed(name, n) }

func (s seen) session(state franz.State) {
	s.Stands(timeline.Standing{
		Instance: state.Instance, Active: state.Active, Learning: tasksOf(state.Learning), Standby: tasksOf(state.Standby),
		Leads: state.Leader, Leaving: state.Leaving,
	})
}

func tasksOf(copies []assignor.Replica) []assignor.TaskID {
	tasks := make([]assignor.TaskID, len(copies))
	for i, c := range copies {
		tasks[i] = c.Task
	}
	return tasks
}
