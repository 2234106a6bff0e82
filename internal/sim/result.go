package sim

import "time"

// Result is what one variant of a spec has cost.
type Result struct {
	Variant  string   `json:"variant"`
	Protocol string   `json:"protocol"`
	Events   []Row    `json:"events"` // each from its time until the next one
	Total    Row      `json:"total"`
	Timeline Timeline `json:"-"`
}

// Row is what happened from one event to the next, or in all.
type Row struct {
	Event         string        `json:"event"`
	At            time.Duration `json:"at_ns"`
	Rounds        int           `json:"rounds"`
	Moved         int           `json:"tasks_moved"`         // how often a task came to another instance
	Minimum       int           `json:"tasks_moved_minimum"` // the fewest moves to the balance that its last members call for; -1 with weights
	Restored      int64         `json:"bytes_restored"`
	Planned       time.Duration `json:"planned_unavailable_task_ns"`   // summed over tasks: pauses, hand-overs, restores after a move
	Unplanned     time.Duration `json:"unplanned_unavailable_task_ns"` // summed over tasks: from a crash until the task runs again
	Worst         time.Duration `json:"worst_pause_ns"`                // the longest that one task did not run at a stretch
	Balanced      time.Duration `json:"balanced_after_ns"`             // -1: not before the end
	Standbys      time.Duration `json:"standbys_whole_after_ns"`       // -1: not before the end
	PeakImbalance int           `json:"peak_imbalance_percent"`        // of the fullest instance over its fair share
	Overload      time.Duration `json:"overload_task_ns"`              // summed over tasks beyond the fair range, and time
	Metadata      int           `json:"metadata_bytes"`                // of the largest round: reports and answers
}

// Timeline is how a run went, as steps: each point holds until the next.
type Timeline struct {
	End       time.Duration
	Instances []string
	Capacity  []int32
	Tasks     []string
	Marks     []Mark
	Points    []Point
	Spans     []Span // empty where there are more than maxLanes tasks
}

// Mark is when an event happened.
type Mark struct {
	At    time.Duration
	Label string
}

// Point is the state of the group from At on.
type Point struct {
	At        time.Duration
	Running   int     // tasks
	Imbalance int     // percent
	Learning  int     // copies being learned
	Capacity  int64   // of the instances that stay
	Loads     []int32 // tasks by instance, -1 where it is not there
}

// Span is what a task did for a while.
type Span struct {
	Task     int
	From, To time.Duration
	Instance int // none where nobody had it
	Running  bool
	Last     bool // the run ended with it
}

// maxLanes is up to how many tasks each has a lane of its own in a timeline.
const maxLanes = 48
