// Command controller runs the controller: it applies what MarkdownViews expand to and
// corrects what differs from it. Here are its flags, and what its parts are made of; the
// parts are below internal.
package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	flag "github.com/spf13/pflag"
	_ "golang.org/x/crypto/x509roots/fallback" // the image has no file with the public certification authorities
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	fluxclient "github.com/fluxcd/pkg/runtime/client"
	fluxcontroller "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/probes"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/controller/internal/account"
	"github.com/zoetrope/markdown-view/controller/internal/apply"
	"github.com/zoetrope/markdown-view/controller/internal/artifact"
	"github.com/zoetrope/markdown-view/controller/internal/notify"
	"github.com/zoetrope/markdown-view/controller/internal/pages"
	"github.com/zoetrope/markdown-view/controller/internal/reconciler"
)

// version is set when the program is linked.
var version = "dev"

func main() {
	options, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "error: %v; see controller --help\n", err)
		os.Exit(2)
	}
	if options.version {
		fmt.Println(version)
		return
	}
	if err := run(ctrl.SetupSignalHandler(), options); err != nil {
		ctrl.Log.Error(err, "the controller stopped")
		os.Exit(1)
	}
}

// options are the command line's, named as those of Flux's controllers.
type options struct {
	metricsAddr, healthAddr, eventsAddr string
	pprofAddr                           string
	viewMetrics                         bool
	concurrent, rollouts                int
	reconcileTimeout                    time.Duration
	gracefulShutdownTimeout             time.Duration
	namespaces                          []string
	artifactHosts                       []string
	noCrossNamespaceRefs                bool
	defaultServiceAccount               string
	version                             bool

	client      fluxclient.Options
	logger      logger.Options
	leader      leaderelection.Options
	rateLimiter fluxcontroller.RateLimiterOptions
	watch       fluxcontroller.WatchOptions
	interval    jitter.IntervalOptions
}

func parse(args []string) (*options, error) {
	o := &options{}
	flags := flag.NewFlagSet("controller", flag.ContinueOnError)
	flags.StringVar(&o.metricsAddr, "metrics-addr", ":8080", "The address that metrics are served at; 0 for none.")
	flags.BoolVar(&o.viewMetrics, "view-metrics", false, "Serve each view's conditions and durations as metrics too, about fifteen series a view.")
	flags.StringVar(&o.pprofAddr, "pprof-addr", "", "The address that Go's profiles are served at, below /debug/pprof/, to whoever reaches it; empty for none.")
	flags.StringVar(&o.healthAddr, "health-addr", ":9440", "The address that the probes are answered at.")
	flags.StringVar(&o.eventsAddr, "events-addr", "", "Where events are posted, beside the Kubernetes events, as Flux's controllers do; empty for nowhere.")
	flags.IntVar(&o.concurrent, "concurrent", 16, "How many MarkdownViews of a namespace are reconciled at once; of all namespaces twice as many.")
	flags.IntVar(&o.rollouts, "concurrent-rollouts", 0, "How many MarkdownViews replace their pods at once, for example after an upgrade; 0 for any number.")
	flags.DurationVar(&o.reconcileTimeout, "reconcile-timeout", time.Minute, "How long one reconciliation may take; rollouts aren't waited for in it.")
	flags.DurationVar(&o.gracefulShutdownTimeout, "graceful-shutdown-timeout", 30*time.Second, "How long reconciliations may go on after the signal to stop.")
	flags.StringSliceVar(&o.namespaces, "namespaces", nil, "The namespaces to watch; empty for all, unless --watch-all-namespaces=false.")
	// Not by BindFlags, whose third flag has nothing to select here.
	flags.BoolVar(&o.watch.AllNamespaces, "watch-all-namespaces", true, "Watch all namespaces; false for the controller's own, which the environment variable RUNTIME_NAMESPACE names.")
	flags.StringVar(&o.watch.LabelSelector, "watch-label-selector", "", "Look after the MarkdownViews with matching labels only, 'sharding.fluxcd.io/key=shard1' say.")
	// Not by BindFlags, whose default lets everybody publish everybody's sources.
	flags.BoolVar(&o.noCrossNamespaceRefs, "no-cross-namespace-refs", true, "Refuse sources in other namespaces than the view's; false publishes any namespace's to whoever may write views.")
	flags.StringVar(&o.defaultServiceAccount, "default-service-account", "", "The service account, of the view's namespace, with whose rights views that name none are applied; empty for the controller's own rights.")
	flags.StringSliceVar(&o.artifactHosts, "artifact-hosts", artifact.DefaultHosts, "The hosts, or host:port, that artifacts of Flux's sources may be fetched from.")
	flags.BoolVar(&o.version, "version", false, "Print the version and exit.")
	o.client.BindFlags(flags)
	o.logger.BindFlags(flags)
	o.leader.BindFlags(flags)
	o.rateLimiter.BindFlags(flags)
	o.interval.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.concurrent < 1 {
		return nil, fmt.Errorf("--concurrent is %d, must be 1 or more", o.concurrent)
	}
	if o.rollouts < 0 {
		return nil, fmt.Errorf("--concurrent-rollouts is %d, must be 0 or more", o.rollouts)
	}
	if _, err := artifact.NewHosts(o.artifactHosts, ""); err != nil {
		return nil, fmt.Errorf("--artifact-hosts: %w", err)
	}
	return o, o.limitNamespaces()
}

// limitNamespaces honours Flux's flag for one namespace, the controller's own.
func (o *options) limitNamespaces() error {
	if o.watch.AllNamespaces || len(o.namespaces) > 0 {
		return nil
	}
	own := os.Getenv("RUNTIME_NAMESPACE")
	if own == "" {
		return errors.New("--watch-all-namespaces=false needs the environment variable RUNTIME_NAMESPACE, or --namespaces")
	}
	o.namespaces = []string{own}
	return nil
}

func run(ctx context.Context, o *options) error {
	logger.SetLogger(logger.NewLogger(o.logger))
	limitMemory()
	if err := o.interval.SetGlobalJitter(nil); err != nil {
		return err
	}
	inline := reconciler.NewInlinePages()
	mgr, err := newManager(o, inline)
	if err != nil {
		return err
	}
	metadata, err := newMetadataCache(o, mgr)
	if err != nil {
		return err
	}
	broadcaster := record.NewBroadcasterWithCorrelatorOptions(record.CorrelatorOptions{LRUCacheSize: correlatedEvents})
	defer broadcaster.Shutdown()
	recorder, err := newRecorder(o, mgr, broadcaster)
	if err != nil {
		return err
	}
	viewMetrics := reconciler.NewMetrics(mgr.GetCache(), o.viewMetrics)
	metrics.Registry.MustRegister(viewMetrics)

	folder, err := artifactsFolder()
	if err != nil {
		return fmt.Errorf("make a folder for the artifacts of Flux's sources: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	sources, err := newSources(o, mgr.GetClient(), folder)
	if err != nil {
		return err
	}
	if err := mgr.Add(sources.Artifacts); err != nil {
		return err
	}

	r := &reconciler.Reconciler{
		Client: mgr.GetClient(),
		Pages: &pages.Finder{
			Metadata:  metadata,
			Client:    mgr.GetClient(),
			APIReader: mgr.GetAPIReader(),
			Sources:   sources,
		},
		Applier: &apply.Applier{
			Client:    mgr.GetClient(),
			Writer:    mgr.GetClient(),
			APIReader: mgr.GetAPIReader(),
			Metadata:  metadata,
			Clock:     clock.RealClock{},
		},
		Accounts: &account.Accounts{
			Default:    o.defaultServiceAccount,
			Own:        mgr.GetClient(),
			Metadata:   metadata,
			NewClient:  impersonating(mgr.GetConfig(), client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()}),
			Namespaces: o.namespaces,
		},
		Inline:    inline,
		APIReader: mgr.GetAPIReader(),
		Events:    recorder,
		Metrics:   viewMetrics,
		Clock:     clock.RealClock{},

		QuickRollout: quickRollout,
	}
	if err := r.SetupWithManager(ctx, mgr, reconciler.Options{
		Metadata:   metadata,
		Concurrent: o.concurrent,
		Rollouts:   o.rollouts,
		MinRetry:   o.rateLimiter.MinRetryDelay,
		MaxRetry:   o.rateLimiter.MaxRetryDelay,
		Timeout:    o.reconcileTimeout,
	}); err != nil {
		return fmt.Errorf("set up the controller: %w", err)
	}
	ctrl.Log.Info("starting", "version", version)
	return mgr.Start(ctx)
}

// newMetadataCache has the manager run a cache of what is known by its metadata only.
func newMetadataCache(o *options, mgr ctrl.Manager) (cache.Cache, error) {
	options := reconciler.MetadataCacheOptions(o.namespaces)
	options.Scheme, options.Mapper, options.HTTPClient = mgr.GetScheme(), mgr.GetRESTMapper(), mgr.GetHTTPClient()
	metadata, err := cache.New(mgr.GetConfig(), options)
	if err != nil {
		return nil, fmt.Errorf("make the cache of metadata: %w", err)
	}
	return metadata, mgr.Add(metadata)
}

// quickRollout is how long a reader of the status doesn't miss that a rollout has begun.
const quickRollout = time.Second

// collectAt is how much garbage there is in percent of what is in use before it is
// collected: almost all that is in use are caches, which are there to stay.
const collectAt = 60

// limitMemory leaves a tenth of what GOMEMLIMIT names, the container's whole limit, to
// what isn't Go's, and has garbage collected sooner than Go does, unless GOGC says when.
func limitMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		debug.SetMemoryLimit(limit / 10 * 9)
	}
}

// impersonating makes clients that act as users. Flux's own Impersonator is for programs
// that apply any kind to any cluster: its clients each discover the API server anew, and
// don't take --kube-api-qps. These share the connections, too.
func impersonating(config *rest.Config, options client.Options) func(user string) (client.Client, error) {
	return func(user string) (client.Client, error) {
		as := rest.CopyConfig(config)
		as.Impersonate = rest.ImpersonationConfig{UserName: user}
		return client.New(as, options)
	}
}

// correlatedEvents is how many events client-go remembers, to count those that are like them
// and to hold back floods: the manager's recorder has it remember 4,096, some 2 kB each, where
// a view has no more than a few within minutes.
const correlatedEvents = 512

// newRecorder records events in the cluster, and posts them beside the reconciler.
func newRecorder(o *options, mgr ctrl.Manager, broadcaster record.EventBroadcaster) (*notify.Recorder, error) {
	config := rest.CopyConfig(mgr.GetConfig())
	config.ContentType = runtime.ContentTypeProtobuf // less to encode and decode than JSON
	api, err := corev1client.NewForConfigAndClient(config, mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("make the client of events: %w", err)
	}
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: api.Events("")})
	kubernetes := broadcaster.NewRecorder(mgr.GetScheme(), corev1.EventSource{Component: reconciler.ControllerName})
	cluster, err := events.NewRecorder(ctrl.Log, "", reconciler.ControllerName, events.WithScheme(mgr.GetScheme()), events.WithLegacyEventRecorder(kubernetes))
	if err != nil {
		return nil, err
	}
	var webhook events.Recorder
	if o.eventsAddr != "" {
		webhook, err = events.NewRecorder(ctrl.Log, o.eventsAddr, reconciler.ControllerName, events.WithScheme(mgr.GetScheme()), events.WithRetryMax(2))
		if err != nil {
			return nil, fmt.Errorf("--events-addr: %w", err)
		}
	}
	recorder := notify.NewRecorder(cluster, webhook, mgr.GetScheme())
	metrics.Registry.MustRegister(recorder)
	return recorder, mgr.Add(recorder)
}

// newSources gives access to Flux's sources, whose artifacts are kept in a folder.
func newSources(o *options, reader client.Reader, folder string) (*pages.Sources, error) {
	hosts, err := artifact.NewHosts(o.artifactHosts, os.Getenv("SOURCE_CONTROLLER_LOCALHOST"))
	if err != nil {
		return nil, fmt.Errorf("--artifact-hosts: %w", err)
	}
	return &pages.Sources{
		Reader:               reader,
		Artifacts:            artifact.NewStore(folder, hosts, artifact.Limits{}, ctrl.Log.WithName("artifacts")),
		NoCrossNamespaceRefs: o.noCrossNamespaceRefs,
		Namespaces:           o.namespaces,
	}, nil
}

// artifactsFolder makes an empty folder. Its name is that of the last process with this
// id: a container that was killed finds what it has left.
func artifactsFolder() (string, error) {
	folder := filepath.Join(os.TempDir(), fmt.Sprintf("markdown-view-artifacts-%d", os.Getpid()))
	if err := os.RemoveAll(folder); err != nil {
		return "", err
	}
	return folder, os.Mkdir(folder, 0o700)
}

func newManager(o *options, inline *reconciler.InlinePages) (ctrl.Manager, error) {
	selector, err := fluxcontroller.GetWatchSelector(o.watch)
	if err != nil {
		return nil, fmt.Errorf("--watch-label-selector: %w", err)
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1.AddToScheme(scheme))

	config := fluxclient.GetConfigOrDie(o.client)
	config.Wrap(newPlainWatches)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddr},
		PprofBindAddress:              o.pprofAddr,
		HealthProbeBindAddress:        o.healthAddr,
		LeaderElection:                o.leader.Enable,
		LeaderElectionReleaseOnCancel: o.leader.ReleaseOnCancel,
		LeaseDuration:                 &o.leader.LeaseDuration,
		RenewDeadline:                 &o.leader.RenewDeadline,
		RetryPeriod:                   &o.leader.RetryPeriod,
		LeaderElectionID:              leaderElectionID(o),
		LeaderElectionNamespace:       os.Getenv("RUNTIME_NAMESPACE"), // empty: the pod's own
		GracefulShutdownTimeout:       &o.gracefulShutdownTimeout,
		Controller:                    crconfig.Controller{RecoverPanic: new(true)},
		Cache:                         reconciler.CacheOptions(selector, o.namespaces, inline),
		Client: client.Options{Cache: &client.CacheOptions{
			Unstructured: true, // Flux's sources
		}},
	})
	if apimeta.IsNoMatchError(err) {
		return nil, fmt.Errorf("the cluster doesn't know MarkdownViews: apply config/crd first: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	probes.SetupChecks(mgr, ctrl.Log)
	return mgr, addReadiness(mgr)
}

// leaderElectionID differs for instances that look after other views.
func leaderElectionID(o *options) string {
	if o.watch.LabelSelector == "" {
		return reconciler.ControllerName
	}
	return leaderelection.GenerateID(reconciler.ControllerName, o.watch.LabelSelector)
}
