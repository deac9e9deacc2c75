package generator

import (
	"cmp"
	"path"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

const (
	containerName = "mdbook"
	portName      = "http"
	pagesVolume   = "markdowns"
	buildVolume   = "build"

	// viewerUser is nobody in particular: the image's own user is root.
	viewerUser = 65532

	// drainSeconds is how long a pod that is told to stop goes on serving, so that
	// it is out of the Service's endpoints before it is gone.
	drainSeconds = 4
	// graceSeconds is just longer: mdBook ignores SIGTERM as process 1, and would
	// otherwise be waited for until the usual 30 s are over.
	graceSeconds = 6
)

func deployment(view *v1.MarkdownView, files layout, config book.Config, need need, shards []shard, revision string) *appsv1ac.DeploymentApplyConfiguration {
	labels := Labels(view.Name)
	common := CommonMetadata(view)
	object := appsv1ac.Deployment(ViewerName(view.Name), "").
		WithLabels(common.Labels).
		WithAnnotations(common.Annotations).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(*view.Spec.Replicas).
			// Pods of a ReplicaSet from the history couldn't start: the ConfigMaps
			// that they would mount have moved on.
			WithRevisionHistoryLimit(0).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithStrategy(appsv1ac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsv1ac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromInt32(1)))).
			WithTemplate(corev1ac.PodTemplateSpec().
				WithLabels(common.Labels).
				WithAnnotations(common.Annotations).
				WithAnnotations(map[string]string{v1.RevisionAnnotation: revision}).
				WithAnnotations(serverAnnotations(view, files, config)).
				WithSpec(podSpec(view, files, need, shards))))
	object.Namespace = namespaceOf(view)
	return object
}

func podSpec(view *v1.MarkdownView, files layout, need need, shards []shard) *corev1ac.PodSpecApplyConfiguration {
	spec := corev1ac.PodSpec().
		// {{#include}} could publish the token.
		WithAutomountServiceAccountToken(false).
		// A Service called mdbook would set MDBOOK_PORT, which mdBook reads as
		// configuration.
		WithEnableServiceLinks(false).
		WithTerminationGracePeriodSeconds(graceSeconds).
		WithSecurityContext(corev1ac.PodSecurityContext().
			WithRunAsNonRoot(true).
			WithRunAsUser(viewerUser).
			WithRunAsGroup(viewerUser).
			WithSeccompProfile(corev1ac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
		WithTopologySpreadConstraints(spread(view)).
		WithContainers(container(view, files, need)).
		WithVolumes(
			pages(view, files, shards),
			corev1ac.Volume().WithName(buildVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource()))
	if len(files.large) > 0 {
		spec.WithInitContainers(assembler(view, files)).WithVolumes(assembly(files))
	}
	if view.Spec.StaticServer != nil {
		serveStatically(spec, view)
	}
	return spec
}

// spread prefers a node of its own for each pod, so that a lost node doesn't take all, and
// schedules them all the same where there are too few. Only pods of the same template
// count: those that a rollout replaces are about to go. A single pod needs none, but has it
// all the same: otherwise to scale would change the template, and replace pods.
func spread(view *v1.MarkdownView) *corev1ac.TopologySpreadConstraintApplyConfiguration {
	return corev1ac.TopologySpreadConstraint().
		WithMaxSkew(1).
		WithTopologyKey(corev1.LabelHostname).
		WithWhenUnsatisfiable(corev1.ScheduleAnyway).
		WithLabelSelector(metav1ac.LabelSelector().WithMatchLabels(Labels(view.Name))).
		WithMatchLabelKeys("pod-template-hash")
}

func container(view *v1.MarkdownView, files layout, need need) *corev1ac.ContainerApplyConfiguration {
	book := pagesVolume
	if len(files.large) > 0 {
		book = assemblyVolume
	}
	object := serving(corev1ac.Container().WithName(containerName), "/").
		WithImage(imageOf(view)).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand("mdbook").
		WithArgs("serve", "--hostname", "0.0.0.0").
		WithEnv(environment(files)...).
		// What mdBook says when it fails is in its log; the view quotes it.
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(resources(need)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(book).WithMountPath(files.mountPath()).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(buildVolume).WithMountPath(buildFolder))
	if files.root != "" {
		object.WithWorkingDir(path.Join(bookRoot, files.root))
	}
	if need.slow {
		object.WithStartupProbe(probe("/").WithPeriodSeconds(1).WithFailureThreshold(startupSeconds))
	}
	return object
}

// serving gives a container the port that the Service leads to, probes, and time to go on
// serving until it gets no more requests.
func serving(object *corev1ac.ContainerApplyConfiguration, healthPath string) *corev1ac.ContainerApplyConfiguration {
	return object.
		WithPorts(corev1ac.ContainerPort().
			WithName(portName).
			WithProtocol(corev1.ProtocolTCP).
			WithContainerPort(viewerPort)).
		WithLivenessProbe(probe(healthPath)).
		// Each second: a rollout waits for it.
		WithReadinessProbe(probe(healthPath).WithPeriodSeconds(1)).
		WithLifecycle(corev1ac.Lifecycle().
			WithPreStop(corev1ac.LifecycleHandler().
				WithSleep(corev1ac.SleepAction().WithSeconds(drainSeconds))))
}

func imageOf(view *v1.MarkdownView) string {
	return cmp.Or(view.Spec.ViewerImage, DefaultViewerImage)
}

func restricted() *corev1ac.SecurityContextApplyConfiguration {
	return corev1ac.SecurityContext().
		WithAllowPrivilegeEscalation(false).
		WithReadOnlyRootFilesystem(true).
		WithCapabilities(corev1ac.Capabilities().WithDrop("ALL"))
}

// environment overrides what book.toml may say: mdBook has to build into the one
// folder it can write to, must not invent chapters that are missing, and need not
// look at folders each second that never change: they are outside of the book, or in
// the volume.
func environment(files layout) []*corev1ac.EnvVarApplyConfiguration {
	env := []*corev1ac.EnvVarApplyConfiguration{
		corev1ac.EnvVar().WithName("MDBOOK_BUILD__BUILD_DIR").WithValue(files.buildDir()),
		corev1ac.EnvVar().WithName("MDBOOK_BUILD__CREATE_MISSING").WithValue("false"),
	}
	if files.watchesMore {
		env = append(env, corev1ac.EnvVar().WithName("MDBOOK_BUILD__EXTRA_WATCH_DIRS").WithValue("[]"))
	}
	return env
}

func probe(path string) *corev1ac.ProbeApplyConfiguration {
	return corev1ac.Probe().WithHTTPGet(corev1ac.HTTPGetAction().
		WithPath(path).
		WithPort(intstr.FromString(portName)).
		WithScheme(corev1.URISchemeHTTP))
}

// pages is the volume that holds the book: each file at its own path, and the
// revision key of each shard, without which no pod starts. That of the first is also
// what makes folders exist in which no file is.
func pages(view *v1.MarkdownView, files layout, shards []shard) *corev1ac.VolumeApplyConfiguration {
	volume := corev1ac.Volume().WithName(pagesVolume)
	if len(shards) == 1 {
		return volume.WithConfigMap(corev1ac.ConfigMapVolumeSource().
			WithName(PagesName(view.Name, shards[0].index)).
			WithItems(items(files, shards[0])...))
	}
	projected := corev1ac.ProjectedVolumeSource()
	for _, s := range shards {
		projected.WithSources(corev1ac.VolumeProjection().WithConfigMap(corev1ac.ConfigMapProjection().
			WithName(PagesName(view.Name, s.index)).
			WithItems(items(files, s)...)))
	}
	return volume.WithProjected(projected)
}

func items(files layout, s shard) []*corev1ac.KeyToPathApplyConfiguration {
	list := make([]*corev1ac.KeyToPathApplyConfiguration, 0, len(s.entries)+1)
	for _, e := range s.entries {
		list = append(list, corev1ac.KeyToPath().WithKey(e.key).WithPath(e.path))
	}
	name := ""
	if s.index > 0 {
		name = "-" + strconv.Itoa(s.index)
	} else {
		for _, p := range files.folderItems() {
			list = append(list, corev1ac.KeyToPath().WithKey(revisionKey(s.revision)).WithPath(p))
		}
	}
	return append(list, corev1ac.KeyToPath().WithKey(revisionKey(s.revision)).WithPath(files.revisionPath(name)))
}
