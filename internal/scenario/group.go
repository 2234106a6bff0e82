package scenario

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/incremental-rebalance/assignor"
)

// group is everything that a scenario has said so far: the settings, the members and what each will report, and what the
// leader remembers. A step works on a clone, which is dropped if the step fails.
type group struct {
	settings
	declared   map[string]attributes // by member id; who is declared need not be there (yet, or any longer)
	generation map[string]int32      // what `members generation=` lets a member report in the next round, by member id
	members    map[string]member     // who is there, by member id
	begun      bool                  // somebody has been there
	memory     *assignor.Assignment  // the leader's; nil before the first round
	last       *round                // nil before the first round since `group`
	moves      moveLog
}

// attributes is what `members` says of a member.
type attributes struct {
	instance string
	capacity int32
	version  uint8
	tags     map[string]string
}

// member is one member that is there: its report of the last round, and what it was told then.
type member struct {
	report   assignor.Member
	answer   assignor.MemberAssignment
	answered bool // false: it joins in the next round, and its report is still what it will report then
}

func newGroup() *group {
	return &group{
		declared:   map[string]attributes{},
		generation: map[string]int32{},
		members:    map[string]member{},
		moves:      newMoveLog(),
	}
}

// clone returns a group that can be changed without a trace in g. Reports and answers are shared: they are replaced as a
// whole, or cloned before they change.
func (g *group) clone() *group {
	c := *g
	c.declared = maps.Clone(g.declared)
	c.generation = maps.Clone(g.generation)
	c.members = maps.Clone(g.members)
	c.moves = g.moves.clone()
	return &c
}

// ids returns the ids of who is there, in natural order.
func (g *group) ids() []string {
	ids := make([]string, 0, len(g.members))
	for id := range g.members { // order-free: sorted below
		ids = append(ids, id)
	}
	slices.SortFunc(ids, naturalCompare)
	return ids
}

// report returns what the member, obeying its last answer, reports in the next round.
func (g *group) report(id string) assignor.Member {
	m := g.members[id]
	r := m.report
	if m.answered {
		r = r.Next(m.answer, g.handover)
	}
	is := g.declared[id]
	r.Instance, r.Capacity, r.Version, r.Tags = is.instance, is.capacity, is.version, is.tags
	if generation, ok := g.generation[id]; ok {
		r.Generation = generation
	}
	return r
}

// reports returns the report of every member, in natural order of their ids.
func (g *group) reports() []assignor.Member {
	ids := g.ids()
	reports := make([]assignor.Member, len(ids))
	for i, id := range ids {
		reports[i] = g.report(id)
	}
	return reports
}

// join makes a new member without any tasks part of the group.
func (g *group) join(id string) error {
	if err := checkName(id); err != nil {
		return err
	}
	if _, there := g.members[id]; there {
		return fmt.Errorf("%s has joined already", id)
	}
	g.members[id] = member{report: assignor.Member{ID: id}}
	g.begun = true
	return nil
}

// resolve returns the members that a name means: the member of that id, else all that are there of the instance of that name.
func (g *group) resolve(name string) ([]string, error) {
	if _, ok := g.members[name]; ok {
		return []string{name}, nil
	}
	ids := slices.DeleteFunc(g.ids(), func(id string) bool { return g.declared[id].instance != name })
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s is not in the group", name)
	}
	return ids, nil
}

// declare is the directive `members`. A line sets the attributes that it names, of a member that is there or may join.
func (g *group) declare(input []Line) error {
	for _, line := range input {
		if err := g.declareMember(line.Text); err != nil {
			return faultAt(line.Number, "%w", err)
		}
	}
	return nil
}

// declareMember reads "S1 instance=h1 capacity=2 version=1 generation=3 tags=zone:a,rack:r1".
func (g *group) declareMember(text string) error {
	id, args, err := parseWords(text)
	if err != nil {
		return err
	}
	if err := checkName(id); err != nil {
		return err
	}
	is := g.declared[id]
	for _, arg := range args {
		value, err := arg.value()
		if err != nil {
			return err
		}
		switch arg.Key {
		case "instance":
			is.instance, err = value, checkName(value)
		case "capacity":
			err = parseInt(value, &is.capacity)
		case "version":
			err = parseInt(value, &is.version)
		case "tags":
			is.tags, err = parseTags(value)
		case "generation":
			var generation int32
			err = parseInt(value, &generation)
			g.generation[id] = generation
		default:
			err = fmt.Errorf("want instance, capacity, version, generation or tags")
		}
		if err != nil {
			return fmt.Errorf("member %s: %s: %w", id, arg.Key, err)
		}
	}
	g.declared[id] = is
	return nil
}

func parseTags(text string) (map[string]string, error) {
	tags := map[string]string{}
	for _, word := range splitWords(text) {
		key, value, ok := strings.Cut(word, ":")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q: want key:value", word)
		}
		tags[key] = value
	}
	return tags, nil
}

// start is the directive `group`: the stable state in which every member has applied generation 1, runs what its row says,
// and the leader remembers just that.
func (g *group) start(input []Line) error {
	rows, err := parseRows(input)
	if err != nil {
		return err
	}
	if err := checkOwners(rows); err != nil {
		return err
	}
	if err := g.deriveTopology(rows); err != nil {
		return err
	}
	g.members, g.moves, g.last = map[string]member{}, newMoveLog(), nil
	g.memory = &assignor.Assignment{Generation: 1}
	for _, r := range rows {
		if err := g.join(r.member); err != nil {
			return faultAt(r.line, "%w", err)
		}
		answer := g.stableAnswer(r)
		report := assignor.Member{ID: r.member, Learners: r.learners, Standbys: r.standbys}
		g.members[r.member] = member{report: report, answer: answer, answered: true}
		g.memory.Members = append(g.memory.Members, answer)
	}
	slices.SortFunc(g.memory.Members, func(a, b assignor.MemberAssignment) int { return cmp.Compare(a.Member, b.Member) })
	g.moves.record(g.memory)
	return nil
}

// stableAnswer returns the answer of generation 1 that leads to this row.
func (g *group) stableAnswer(r row) assignor.MemberAssignment {
	active := slices.Concat(r.active, r.revoked)
	slices.SortFunc(active, assignor.TaskID.Compare)
	standbys := slices.DeleteFunc(tasksOf(r.standbys), func(t assignor.TaskID) bool { return slices.Contains(active, t) })
	return assignor.MemberAssignment{
		Member:     r.member,
		Instance:   cmp.Or(g.declared[r.member].instance, r.member),
		Version:    g.declared[r.member].version,
		Generation: 1,
		Active:     active,
		Handover:   r.revoked,
		Learners:   tasksOf(r.learners),
		Standbys:   standbys,
	}
}

// checkOwners refuses a task that two rows run, or one twice: that is no stable state.
func checkOwners(rows []row) error {
	owner := map[assignor.TaskID]string{}
	for _, r := range rows {
		for _, task := range slices.Concat(r.active, r.revoked) {
			if other, taken := owner[task]; taken {
				return faultAt(r.line, "%v is run by %s already", task, other)
			}
			owner[task] = r.member
		}
	}
	return nil
}

// tasksOf returns the tasks of the copies, sorted.
func tasksOf(replicas []assignor.Replica) []assignor.TaskID {
	var tasks []assignor.TaskID
	for _, r := range replicas {
		tasks = append(tasks, r.Task)
	}
	slices.SortFunc(tasks, assignor.TaskID.Compare)
	return tasks
}
