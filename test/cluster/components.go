package cluster

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/zoetrope/markdown-view/test/cluster/supervise"
)

// Names of components: of the programs, their log files, and for
// Options.Args and Component.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// stopGrace is how long Stop and Restart wait after SIGTERM. etcd needs seven
// seconds as long as the API server is connected to it.
const stopGrace = 15 * time.Second

// Component is a process of the cluster. Its methods cause the faults that
// tests need; data and ports stay as they are.
type Component struct {
	cluster *Cluster
	process supervise.Process
	ready   func(context.Context) error // nil: nothing to wait for
}

// Component returns one by its name.
func (c *Cluster) Component(name string) (*Component, error) {
	component, ok := c.components[name]
	if !ok {
		return nil, fmt.Errorf("%s is no component of this cluster", name)
	}
	return component, nil
}

// Run starts any other program as a component: it is tied to the cluster's
// life, and can be stopped, killed and started again as the others.
func (c *Cluster) Run(ctx context.Context, process supervise.Process) (*Component, error) {
	if err := c.Supports(Faults); err != nil {
		return nil, fmt.Errorf("running %s: %w", process.Name, err)
	}
	if _, taken := c.components[process.Name]; taken {
		return nil, fmt.Errorf("running %s: a component of that name exists", process.Name)
	}
	component := c.add(process)
	if err := component.launch(ctx); err != nil {
		return nil, err
	}
	return component, nil
}

func (c *Cluster) add(process supervise.Process) *Component {
	component := &Component{cluster: c, process: process}
	switch process.Name {
	case Etcd:
		component.ready = c.etcdReady
	case APIServer:
		component.ready = c.Ready
	}
	c.components[process.Name] = component
	return component
}

// Start starts a component that was stopped, and returns when it is ready; for
// etcd that is when the API server, if that runs, is ready too.
func (p *Component) Start(ctx context.Context) error {
	if err := p.launch(ctx); err != nil || p.ready == nil {
		return err
	}
	return p.ready(ctx)
}

func (p *Component) launch(ctx context.Context) error {
	_, err := p.cluster.supervisor.Start(ctx, p.process)
	return err
}

// Stop asks a component to end, kills it if it doesn't within 15 seconds, and
// returns when it is gone.
func (p *Component) Stop(ctx context.Context) error {
	_, err := p.cluster.supervisor.Stop(ctx, p.process.Name, stopGrace)
	return err
}

// Kill ends a component as a crash would and returns when it is gone. For etcd
// it is also the quick way: Stop takes seven seconds.
func (p *Component) Kill(ctx context.Context) error {
	_, err := p.cluster.supervisor.Stop(ctx, p.process.Name, 0)
	return err
}

// Restart is Stop and Start. After that of kwok its nodes do nothing for up to
// 40 seconds, until the leases of the process that was stopped are over.
func (p *Component) Restart(ctx context.Context) error {
	if err := p.Stop(ctx); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Pause freezes a component: its connections stay open and unanswered.
func (p *Component) Pause(ctx context.Context) error {
	return p.cluster.supervisor.Signal(ctx, p.process.Name, syscall.SIGSTOP)
}

// Resume lets a paused component go on.
func (p *Component) Resume(ctx context.Context) error {
	return p.cluster.supervisor.Signal(ctx, p.process.Name, syscall.SIGCONT)
}

// State reports whether a component runs, and if not how it ended.
func (p *Component) State(ctx context.Context) (supervise.State, error) {
	return p.cluster.supervisor.State(ctx, p.process.Name)
}

// Ended returns an error with the component's last words if it doesn't run, for those who wait
// for what it does.
func (p *Component) Ended(ctx context.Context) error {
	return p.cluster.ended(ctx, p.process.Name)
}

// LogFile is where the component's output goes.
func (p *Component) LogFile() string {
	return p.cluster.supervisor.LogFile(p.process.Name)
}

// tail returns the end of the log, for an error.
func (p *Component) tail() string {
	const most = 4096
	content, err := os.ReadFile(p.LogFile())
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(content[max(0, len(content)-most):]))
}
