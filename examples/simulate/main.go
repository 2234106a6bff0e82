// Command simulate tells what a change of a cluster will cost, before it is made: it plays the change in virtual time, with the
// assignments that the library decides.
//
//	go run ./examples/simulate testdata/simulate/scale_out.sim
//	go run ./examples/simulate -compare -html page.html testdata/simulate/zone_loss.sim
//	go run ./examples/simulate -instances 10 -tasks 200 -size 5GB -standbys 1 -event 'add 1' -compare
//
// It prints a table for each file: what each variant of it has cost, and each event, where there are several. What the columns
// mean is said by -columns and on the page that -html writes. The files in testdata/simulate show what a spec can say; the
// comment of sim.Parse (go doc ./internal/sim Parse) lists it all. Without a file, flags make up the spec.
//
// The same file and seed give the same figures, on every machine. The exit code is 1 where a file cannot be played, and 2 if the
// arguments make no sense.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/sim"
)

const (
	exitOK    = 0
	exitFails = 1
	exitUsage = 2
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options is what the flags say.
type options struct {
	json, compare, columns, quiet bool
	html                          string
	variants                      string
	seed                          int64
	spec                          specFlags
	files                         []string
}

// specFlags make up a spec where no file does.
type specFlags struct {
	instances, tasks, standbys int
	size, write, restore, end  string
	events, lines              list
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string     { return strings.Join(*l, "; ") }
func (l *list) Set(s string) error { *l = append(*l, s); return nil }

func parseFlags(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: simulate [flags] [FILE...]\n\nWithout a file, -instances, -tasks and -event make up the cluster and what happens to it.")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.json, "json", false, "print the results as JSON")
	flags.StringVar(&o.html, "html", "", "write one page with charts to `FILE`")
	flags.BoolVar(&o.compare, "compare", false, "also play the three protocols that the library is compared with")
	flags.StringVar(&o.variants, "variant", "", "play only these variants, by `NAMES` with commas")
	flags.BoolVar(&o.columns, "columns", false, "say what the columns mean")
	flags.BoolVar(&o.quiet, "quiet", false, "no progress")
	flags.Int64Var(&o.seed, "seed", 0, "another seed than the file's")
	s := &o.spec
	flags.IntVar(&s.instances, "instances", 10, "instances at the beginning")
	flags.IntVar(&s.tasks, "tasks", 100, "tasks, all with state")
	flags.StringVar(&s.size, "size", "5GB", "state of a task, or a `RANGE` such as 1GB..20GB")
	flags.StringVar(&s.write, "write", "200KB/s", "what a task writes, as `RATE`")
	flags.StringVar(&s.restore, "restore", "50MB/s", "what an instance can restore, as `RATE`")
	flags.StringVar(&s.end, "end", "24h", "when the run ends at the latest, as `TIME`")
	flags.IntVar(&s.standbys, "standbys", 0, "standbys of each task")
	flags.Var(&s.events, "event", "what happens: `EVENT` such as 'add 1' (after 10 minutes) or '1h crash S3'; may be repeated")
	flags.Var(&s.lines, "line", "any further `LINE` of a spec, such as 'config rejoinDelay=5m'; may be repeated")
	err := flags.Parse(args)
	o.files = flags.Args()
	return o, err
}

// text returns the spec that the flags make up.
func (s *specFlags) text() string {
	lines := []string{
		fmt.Sprintf("instances %d", s.instances),
		fmt.Sprintf("subtopology 0 partitions=%d size=%s write=%s", s.tasks, s.size, s.write),
		fmt.Sprintf("config standbys=%d", s.standbys),
		fmt.Sprintf("costs restore=%s", s.restore),
		"end " + s.end,
	}
	for _, event := range s.events {
		if first, _, _ := strings.Cut(event, " "); strings.Trim(first, "0123456789.hms") != "" || first == "" {
			event = "10m " + event
		}
		lines = append(lines, "at "+event)
	}
	return strings.Join(append(lines, s.lines...), "\n")
}

// run is main without the process around it. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	o, err := parseFlags(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err == nil && len(o.files) == 0 && len(o.spec.events) == 0 {
		err = fmt.Errorf("no file and no -event: nothing would happen")
	}
	if err == nil && o.html != "" && len(o.files) > 1 {
		err = fmt.Errorf("-html takes one file")
	}
	if err != nil {
		fmt.Fprintln(stderr, "simulate:", err)
		return exitUsage
	}
	if err := play(&o, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "simulate:", err)
		return exitFails
	}
	return exitOK
}

// played is one file with its results.
type played struct {
	File    string        `json:"file"`
	Title   string        `json:"title"`
	Results []*sim.Result `json:"results"`
}

func play(o *options, stdout, stderr io.Writer) error {
	var all []played
	for _, file := range sources(o) {
		spec, err := o.load(file)
		if err != nil {
			return err
		}
		variants, err := o.choose(spec)
		if err != nil {
			return err
		}
		results, err := sim.RunAll(spec, variants, o.progress(file, stderr))
		if err != nil {
			return err
		}
		all = append(all, played{file, spec.Title, results})
		if !o.json {
			printResults(stdout, &all[len(all)-1], len(all) == 1)
		}
		if o.html != "" {
			if err := writePage(o.html, file, spec, results); err != nil {
				return err
			}
		}
	}
	if o.json {
		out := json.NewEncoder(stdout)
		out.SetIndent("", "  ")
		return out.Encode(all)
	}
	if o.columns {
		fmt.Fprintf(stdout, "\n%s", sim.ColumnMeanings())
	}
	return nil
}

// fromFlags stands for the spec that the flags make up.
const fromFlags = "the flags"

func sources(o *options) []string {
	if len(o.files) == 0 {
		return []string{fromFlags}
	}
	return o.files
}

func (o *options) load(file string) (*sim.Spec, error) {
	text := []byte(o.spec.text())
	if file != fromFlags {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	spec, err := sim.Parse(filepath.ToSlash(file), text)
	if err == nil && o.seed != 0 {
		spec.Seed = o.seed
	}
	return spec, err
}

// choose returns the variants to play.
func (o *options) choose(spec *sim.Spec) ([]sim.Variant, error) {
	variants := spec.Variants
	if o.compare {
		variants = append(slices.Clone(variants), sim.Baselines(variants[0])...)
	}
	if o.variants == "" {
		return variants, nil
	}
	var chosen []sim.Variant
	for _, name := range strings.Split(o.variants, ",") {
		i := slices.IndexFunc(variants, func(v sim.Variant) bool { return v.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no variant %s", name)
		}
		chosen = append(chosen, variants[i])
	}
	return chosen, nil
}

// progress returns what tells, every second, how far a run is. The results know nothing of the clock that it looks at.
func (o *options) progress(file string, stderr io.Writer) func(variant string) sim.Progress {
	last := time.Now()
	return func(variant string) sim.Progress {
		return func(now, end time.Duration, rounds int) {
			if o.quiet || time.Since(last) < time.Second {
				return
			}
			last = time.Now()
			fmt.Fprintf(stderr, "%s, %s: at %v of at most %v, %d rounds\n", file, variant, now.Round(time.Second), end, rounds)
		}
	}
}

func printResults(w io.Writer, p *played, first bool) {
	if !first {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%s\n", p.File)
	if p.Title != "" {
		fmt.Fprintf(w, "%s\n", p.Title)
	}
	for _, r := range p.Results {
		if len(r.Events) > 1 {
			fmt.Fprintf(w, "\n%s, event by event\n", r.Variant)
			sim.EventTable(r).WriteText(w)
		}
	}
	fmt.Fprintln(w)
	sim.VariantTable(p.Results).WriteText(w)
}

func writePage(path, name string, spec *sim.Spec, results []*sim.Result) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(sim.WritePage(f, name, spec, results), f.Close())
}
