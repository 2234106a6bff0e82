package peers

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/incremental-rebalance/assignor/internal/measure"
)

//go:embed java/pom.xml
var pom []byte

//go:embed java/Streams.java
var source []byte

// The assignors of Kafka Streams.
const (
	HighAvailability = "ha"
	Sticky           = "sticky"
)

// ErrTooSlow says that there was no answer in time.
var ErrTooSlow = errors.New("no answer in time")

// Streams runs Kafka Streams' assignors in a Java process of its own, which measures itself what they take.
type Streams struct {
	Limit     time.Duration // how long one answer may take, beside the start and the warm-up
	classpath string
	dir       string
	process   *exec.Cmd
	stdin     io.Closer
	requests  io.Writer
	answers   chan string
}

// NewStreams fetches what java/pom.xml names. It fails where java or mvn is missing, or Maven cannot get it.
func NewStreams(limit time.Duration) (*Streams, error) {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	s := &Streams{Limit: limit, dir: dir}
	if err := s.fetch(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Streams) fetch() error {
	for name, content := range map[string][]byte{"pom.xml": pom, "Streams.java": source} {
		if err := os.WriteFile(filepath.Join(s.dir, name), content, 0o600); err != nil {
			return err
		}
	}
	fetch := exec.Command("mvn", "--quiet", "--batch-mode", "dependency:build-classpath")
	fetch.Dir, fetch.Stdout, fetch.Stderr = s.dir, os.Stderr, os.Stderr
	if err := fetch.Run(); err != nil {
		return fmt.Errorf("mvn: %w", err)
	}
	classpath, err := os.ReadFile(filepath.Join(s.dir, "target", "classpath"))
	s.classpath = strings.TrimSpace(string(classpath))
	return err
}

// Close ends the process and removes its files.
func (s *Streams) Close() error {
	s.stop()
	return os.RemoveAll(s.dir)
}

func (s *Streams) start() error {
	s.process = exec.Command("java", "-Xmx6g", "-cp", s.classpath, filepath.Join(s.dir, "Streams.java"))
	s.process.Stderr = os.Stderr
	in, err := s.process.StdinPipe()
	if err != nil {
		return err
	}
	out, err := s.process.StdoutPipe()
	if err != nil {
		return err
	}
	s.stdin, s.requests, s.answers = in, in, make(chan string, 1)
	if err := s.process.Start(); err != nil {
		return err
	}
	go func(answers chan string) {
		defer close(answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			answers <- lines.Text()
		}
	}(s.answers)
	return nil
}

func (s *Streams) stop() {
	if s.process == nil {
		return
	}
	_ = s.stdin.Close()
	_ = s.process.Process.Kill()
	_ = s.process.Wait() // it was killed, and says so
	s.process = nil
}

// ask sends one request and reads the numbers of its answer. A process that does not answer in time is stopped.
func (s *Streams) ask(limit time.Duration, numbers int, request string) ([]int64, error) {
	if s.process == nil {
		if err := s.start(); err != nil {
			return nil, err
		}
	}
	fmt.Fprintln(s.requests, request)
	select {
	case line, ok := <-s.answers:
		if !ok {
			s.stop()
			return nil, errors.New("streams: the process has ended")
		}
		answer, ok := strings.CutPrefix(line, "ok ")
		if !ok {
			return nil, fmt.Errorf("streams: %s: %s", request, line)
		}
		got := make([]int64, numbers)
		for i, word := range strings.Fields(answer) {
			if _, err := fmt.Sscan(word, &got[i]); err != nil {
				return nil, fmt.Errorf("streams: %s: %w", line, err)
			}
		}
		return got, nil
	case <-time.After(limit):
		s.stop()
		return nil, ErrTooSlow
	}
}

// Time is how long an assignor takes for one round of a case. The first time it waits until the code has been compiled.
func (s *Streams) Time(name string, c measure.Case) (time.Duration, error) {
	const startAndWarmUp = 10 * time.Second
	got, err := s.ask(s.Limit+startAndWarmUp, 1, fmt.Sprintf("time %s %s %d %d %d", name, c.State, c.Tasks, c.Members, c.Standbys))
	if err != nil {
		return 0, err
	}
	return time.Duration(got[0]), nil
}

// Settle lets an assignor run to its end.
func (s *Streams) Settle(name string, c measure.Case) (Settled, error) {
	got, err := s.ask(10*time.Minute, 3, fmt.Sprintf("end %s %s %d %d %d", name, c.State, c.Tasks, c.Members, c.Standbys))
	if err != nil {
		return Settled{}, err
	}
	return Settled{Rounds: int(got[0]), Moves: int(got[1]), Cold: int(got[2])}, nil
}
