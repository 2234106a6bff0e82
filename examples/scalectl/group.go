package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/twmb/franz-go/pkg/kgo"
)

// group is a running group as it was when load asked.
type group struct {
	options
	client  *kgo.Client
	out     io.Writer
	members []franz.Described
	states  map[string]franz.State // by instance, of those that answered
}

// load asks the coordinator, and then the instances.
func (g *group) load(ctx context.Context) error {
	members, _, err := franz.Describe(ctx, g.client, g.group)
	if err != nil {
		return err
	}
	g.members, g.states = members, map[string]franz.State{}
	for _, m := range members {
		if s, err := g.call(ctx, http.MethodGet, m, "/state"); err == nil {
			g.states[m.Report.Instance] = s
		}
	}
	return nil
}

// call calls the handler of a member's instance.
func (g *group) call(ctx context.Context, method string, m franz.Described, path string) (s franz.State, err error) {
	address := m.Report.Tags[g.tag]
	if address == "" {
		return s, fmt.Errorf("instance %s reports no address in the tag %q", m.Report.Instance, g.tag)
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address+path, nil)
	if err != nil {
		return s, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return s, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode >= http.StatusBadRequest {
		return s, fmt.Errorf("instance %s: %s", m.Report.Instance, resp.Status)
	}
	return s, json.NewDecoder(resp.Body).Decode(&s)
}

// list writes the instances as a table.
func (g *group) list() {
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "INSTANCE\tHOST\tCAPACITY\tACTIVE\tLEARNING\tSTANDBY\tLAG\tFOR\tNOTE")
	for _, m := range g.members {
		ma := m.Assignment
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%d\t%d\t%s\t%s\t%s\n", m.Report.Instance, strings.TrimPrefix(m.Host, "/"), max(1, m.Report.Capacity),
			len(ma.Active), len(ma.Learners), len(ma.Standbys), g.lag(m), g.age(m), g.note(m))
	}
	_ = w.Flush()
}

// note returns what else there is to say of a member.
func (g *group) note(m franz.Described) string {
	var notes []string
	s, live := g.states[m.Report.Instance]
	if s.Leader {
		notes = append(notes, "leads")
	}
	if s.MissingStandbys > 0 {
		notes = append(notes, fmt.Sprintf("misses %d standbys", s.MissingStandbys))
	}
	switch {
	case m.Err != nil:
		notes = append(notes, "cannot be read: "+m.Err.Error())
	case s.Leaving:
		notes = append(notes, "leaving for "+time.Since(s.LeavingSince).Round(time.Second).String())
	case m.Report.Leaving:
		notes = append(notes, "leaving")
	case !live:
		notes = append(notes, "does not answer")
	}
	if trouble := s.Trouble(); trouble != "" {
		notes = append(notes, strings.Split(trouble, "\n")...)
	}
	return strings.Join(notes, "; ")
}

// age returns for how long the oldest learner of a member has been at it.
func (g *group) age(m franz.Described) string {
	learners := m.Report.Learners
	if s, live := g.states[m.Report.Instance]; live {
		learners = s.Learning
	}
	oldest := time.Duration(0)
	for _, l := range learners {
		oldest = max(oldest, l.For)
	}
	return oldest.Round(time.Second).String()
}

// lag returns the records that the learners of a member still have to replay: of now, where the instance answers, else of its
// last report.
func (g *group) lag(m franz.Described) string {
	sum := int64(0)
	if s, live := g.states[m.Report.Instance]; live {
		for _, c := range s.Learning {
			sum += max(0, c.Lag)
		}
		return strconv.FormatInt(sum, 10)
	}
	for _, r := range m.Report.Learners {
		sum += max(0, r.Lag)
	}
	return "~" + strconv.FormatInt(sum, 10)
}

// leave tells instances to leave, those named or those above -to, and follows them.
func (g *group) leave(ctx context.Context, names []string) error {
	if g.to != "" {
		chosen, err := g.choose()
		if err != nil {
			return err
		}
		names = append(names, chosen...)
	}
	if len(names) == 0 {
		return errors.New("nobody to tell to leave: name instances, or a percentage with -to that leaves some over")
	}
	if err := g.tell(ctx, "/leave", names); err != nil {
		return err
	}
	return g.follow(ctx, names)
}

// choose returns the instances to tell to leave so that -to percent of those that stay are left: with the least to move.
func (g *group) choose() ([]string, error) {
	percent, err := strconv.Atoi(strings.TrimSuffix(g.to, "%"))
	if err != nil || percent < 1 || percent > 100 {
		return nil, fmt.Errorf("-to %s, want 1%% to 100%%", g.to)
	}
	members := make([]assignor.Member, len(g.members))
	staying := map[string]bool{}
	for i, m := range g.members {
		members[i] = assignor.Member{ID: m.ID, Instance: m.Report.Instance, Leaving: m.Report.Leaving, Active: m.Assignment.Active}
		if !m.Report.Leaving {
			staying[cmp.Or(m.Report.Instance, m.ID)] = true
		}
	}
	target := (len(staying)*percent + 99) / 100
	return assignor.ScaleDown(members, target, assignor.Config{}), nil
}

// tell calls a path of every member of the named instances.
func (g *group) tell(ctx context.Context, path string, names []string) error {
	var problems []error
	for _, name := range names {
		found := false
		for _, m := range g.members {
			if m.Report.Instance != name {
				continue
			}
			found = true
			if _, err := g.call(ctx, http.MethodPost, m, path); err != nil {
				problems = append(problems, err)
				continue
			}
			fmt.Fprintf(g.out, "%s: told %s\n", name, strings.TrimPrefix(path, "/"))
		}
		if !found {
			problems = append(problems, fmt.Errorf("no instance %q in the group", name))
		}
	}
	return errors.Join(problems...)
}

// follow writes a line of progress every second until the instances are out of the group.
func (g *group) follow(ctx context.Context, names []string) error {
	ctx, cancel := context.WithTimeout(ctx, g.deadline)
	defer cancel()
	begun := time.Now()
	for last := ""; ; {
		left, line := g.progress(names)
		if line != last {
			fmt.Fprintf(g.out, "%6s  %s\n", time.Since(begun).Round(time.Second), line)
			last = line
		}
		if left == 0 {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("%d instances have not left yet, and go on leaving: %w", left, ctx.Err())
		}
		if err := g.load(ctx); err != nil && ctx.Err() == nil {
			fmt.Fprintln(g.out, "        ", err) // during a round, or while the coordinator moves
		}
	}
}

// progress returns how many of the instances are still in the group, and a line about them.
func (g *group) progress(names []string) (left int, line string) {
	var parts []string
	for _, name := range names {
		i := slices.IndexFunc(g.members, func(m franz.Described) bool { return m.Report.Instance == name })
		if i < 0 {
			parts = append(parts, name+": gone")
			continue
		}
		left++
		ma := g.members[i].Assignment
		lag := int64(0)
		for _, s := range g.states {
			for _, c := range s.Learning {
				if slices.Contains(ma.Handover, c.Task) {
					lag += max(0, c.Lag)
				}
			}
		}
		parts = append(parts, fmt.Sprintf("%s: %d active, %d of them learned elsewhere (lag %d), %d standby", name,
			len(ma.Active), len(ma.Handover), lag, len(ma.Standbys)))
	}
	return left, strings.Join(parts, "; ")
}
