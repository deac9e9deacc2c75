package reconciler

import (
	"slices"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/zoetrope/markdown-view/api/v1"
)

// lazySink encodes what a logger is to say of each line once there is one: most
// reconciliations log nothing, and their loggers were among what most was allocated for.
type lazySink struct {
	logr.LogSink
	values []any
}

// WithValues implements logr.LogSink.
func (s *lazySink) WithValues(values ...any) logr.LogSink {
	return &lazySink{s.LogSink, append(slices.Clip(s.values), values...)}
}

// WithName implements logr.LogSink.
func (s *lazySink) WithName(name string) logr.LogSink {
	return &lazySink{s.LogSink.WithName(name), s.values}
}

// Info implements logr.LogSink.
func (s *lazySink) Info(level int, message string, values ...any) {
	s.LogSink.WithValues(s.values...).Info(level, message, values...)
}

// Error implements logr.LogSink.
func (s *lazySink) Error(err error, message string, values ...any) {
	s.LogSink.WithValues(s.values...).Error(err, message, values...)
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s *lazySink) WithCallDepth(depth int) logr.LogSink {
	if sink, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return &lazySink{sink.WithCallDepth(depth), s.values}
	}
	return s
}

// logConstructor gives each reconciliation a logger that names the view, with the keys that
// controller-runtime has.
func logConstructor(log logr.Logger) func(*reconcile.Request) logr.Logger {
	log = log.WithValues("controller", ControllerName, "controllerGroup", v1.GroupVersion.Group, "controllerKind", v1.Kind)
	lazy := log
	if sink := log.WithCallDepth(1).GetSink(); sink != nil { // lazySink's own
		lazy = log.WithSink(&lazySink{LogSink: sink})
	}
	return func(request *reconcile.Request) logr.Logger {
		if request == nil {
			return log
		}
		return lazy.WithValues(v1.Kind, request.NamespacedName, "namespace", request.Namespace, "name", request.Name)
	}
}
