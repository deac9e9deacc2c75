package reconciler

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// encodings counts what is encoded for lines that may never be written.
type encodings struct {
	logr.LogSink
	n *int
}

func (e encodings) WithValues(values ...any) logr.LogSink {
	*e.n++
	return encodings{e.LogSink.WithValues(values...), e.n}
}

func (e encodings) WithCallDepth(depth int) logr.LogSink {
	return encodings{e.LogSink.(logr.CallDepthLogSink).WithCallDepth(depth), e.n}
}

// TestLoggersEncodeNothingUntilTheyLog holds a view's logger against one that encodes at once.
func TestLoggersEncodeNothingUntilTheyLog(t *testing.T) {
	var lines []string
	encoded := 0
	eager := funcr.New(func(prefix, args string) {
		lines = append(lines, regexp.MustCompile(` "line"=\d+`).ReplaceAllString(strings.TrimSpace(prefix+" "+args), ""))
	}, funcr.Options{LogCaller: funcr.All})
	construct := logConstructor(eager.WithSink(encodings{eager.GetSink(), &encoded}))
	before := encoded
	log := construct(&reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "docs", Name: "handbook"}}).WithValues("reconcileID", "1")
	log.V(1).Info("not asked for")
	if encoded != before {
		t.Errorf("%d values were encoded for nothing", encoded-before)
	}
	log.WithName("x").Info("one", "a", 1)
	log.Error(errors.New("broken"), "two")
	construct(nil).Info("three")
	const of = `"controller"="markdown-view-controller" "controllerGroup"="view.zoetrope.github.io" "controllerKind"="MarkdownView"`
	const view = of + ` "MarkdownView"={"name"="handbook" "namespace"="docs"} "namespace"="docs" "name"="handbook" "reconcileID"="1"`
	want := []string{
		`x "caller"={"file"="lazylog_test.go"} "level"=0 "msg"="one" ` + view + ` "a"=1`,
		`"caller"={"file"="lazylog_test.go"} "msg"="two" "error"="broken" ` + view,
		`"caller"={"file"="lazylog_test.go"} "level"=0 "msg"="three" ` + of,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}
