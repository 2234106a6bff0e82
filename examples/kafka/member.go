package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/incremental-rebalance/assignor"
	"github.com/incremental-rebalance/assignor/franz"
	"github.com/incremental-rebalance/assignor/internal/timeline"
)

// member runs one instance of the word count as a service of its own would: it tells what it does, answers on an address of its
// own, drains when it is told to end (SIGTERM) or to leave (scalectl), and ends.
func member(ctx context.Context, out io.Writer, name, address string, s settings) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	s.tags = map[string]string{"http": listener.Addr().String()}
	s.watch = &printer{out: out}
	w, err := start(name, s)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: w.balancer.Handler(), ReadHeaderTimeout: 5 * time.Second}
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(listener) }()
	fmt.Fprintf(out, "%s answers on http://%s/state\n", name, listener.Addr())
	select {
	case <-w.balancer.Done(): // told to leave, and drained
		w.close()
		return nil
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := w.drain(drain); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	fmt.Fprintf(out, "%s: nobody has taken everything over, it ends as it is\n", name)
	return nil
}

// printer is a watcher that writes down what an instance does.
type printer struct {
	mu  sync.Mutex
	out io.Writer
}

func (p *printer) printf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, time.Now().Format("15:04:05.000 ")+format+"\n", args...)
}

func (p *printer) started(name string, task assignor.TaskID) { p.printf("%s runs %s", name, task) }
func (p *printer) stopped(name string, task assignor.TaskID) {
	p.printf("%s has stopped %s", name, task)
}
func (p *printer) round(r franz.Round)   { p.printf("decided a round: %+v", r) }
func (p *printer) processed(string, int) {}

func (p *printer) session(s franz.State) {
	p.printf("%s: generation %d, active [%s], learning [%s], standby [%s]", s.Instance, s.Generation, timeline.Short(s.Active),
		timeline.Short(tasksOf(s.Learning)), timeline.Short(tasksOf(s.Standby)))
}
