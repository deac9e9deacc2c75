package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MarkdownViewSpec names the pages of a book and says how they are served.
//
// +kubebuilder:validation:XValidation:rule="has(self.contentFrom) && size(self.contentFrom) > 0 || has(self.markdowns) && 'SUMMARY.md' in self.markdowns",message="a book needs a SUMMARY.md: add it to markdowns, or name a source in contentFrom that holds one"
type MarkdownViewSpec struct {
	// Markdowns holds inline pages. A key is the page's path below the book's
	// source folder ("guide/intro.md"), the value its text. An inline page wins
	// over a page of the same path from contentFrom.
	// +kubebuilder:validation:MaxProperties=1000
	// +kubebuilder:validation:XValidation:rule="self.all(p, size(p) <= 1024 && !p.contains('\\\\') && ['/' + p + '/'].all(q, !q.contains('//') && !q.contains('/./') && !q.contains('/../')))",message="each path must be relative and clean, such as guide/intro.md: no leading or trailing slash, no empty, . or .. element, no backslash, at most 1024 characters"
	// +optional
	Markdowns map[string]string `json:"markdowns,omitempty"`

	// ContentFrom names further sources of pages. A later entry wins over an
	// earlier one where both hold the same path.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	ContentFrom []ContentSource `json:"contentFrom,omitempty"`

	// BookToml is mdBook's own configuration, the text of book.toml. It wins over
	// the book.toml of a project that contentFrom names.
	// +kubebuilder:validation:MaxLength=262144
	// +optional
	BookToml string `json:"bookToml,omitempty"`

	// Replicas is how many viewer pods serve the book. 0 parks it: the objects
	// stay, no pod runs. At most 1000.
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Replicas *int32 `json:"replicas,omitempty"`

	// ViewerImage is the image that serves the book; its entry on PATH must be
	// mdbook. Empty means the mdBook version that this release was tested with.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^\S*$`
	// +optional
	ViewerImage string `json:"viewerImage,omitempty"`

	// StaticServer has mdBook build the book once, in an init container, and nginx serve
	// what it has built, instead of mdBook's own development server: for books behind a
	// gateway, below a path, or with many readers. {} is enough.
	// +optional
	StaticServer *StaticServer `json:"staticServer,omitempty"`

	// CommonMetadata is set on every object that is generated, and on the pods: a change
	// of it replaces them.
	// +optional
	CommonMetadata *CommonMetadata `json:"commonMetadata,omitempty"`

	// Patches change what is generated, as kustomize's patches do, one after the other.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Patches []Patch `json:"patches,omitempty"`

	// Suspend stops the controller from touching the view and what it made. The
	// function ignores it.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Interval is the longest time until drift is looked for again; it is found
	// by watch in most cases. At least a second, at most 24 hours. The function
	// ignores it.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,7}(\.[0-9]{1,9})?m|[0-9]{1,5}(\.[0-9]{1,9})?h)+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be at least 1s and at most 24h"
	// +optional
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Timeout is how long a rollout may go on without progress before it is called
	// failed; a pod may take ten minutes to build a large book. At least a second, at
	// most 24 hours. The function ignores it.
	// +kubebuilder:default="15m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^([0-9]{1,9}(\.[0-9]{1,9})?(ms|s)|[0-9]{1,7}(\.[0-9]{1,9})?m|[0-9]{1,5}(\.[0-9]{1,9})?h)+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be at least 1s and at most 24h"
	// +optional
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// DriftDetection says what becomes of changes that others make to the objects of the
	// view. The function only checks it.
	// +optional
	DriftDetection *DriftDetection `json:"driftDetection,omitempty"`

	// ServiceAccountName is an account of the view's own namespace with whose rights the
	// controller writes what the view expands to. Empty means the controller's default,
	// which are its own rights unless it is told otherwise. The function ignores it.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?$`
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// DriftDetection says what becomes of changes that others make to the objects of a view. A
// change of the view itself is always applied.
type DriftDetection struct {
	// Mode is Enabled to undo them; Warn to say so in an event and in the Ready
	// condition's message, and to leave them; Disabled not to look for them.
	// +kubebuilder:default=Enabled
	// +optional
	Mode DriftDetectionMode `json:"mode,omitempty"`

	// Ignore names fields that are left to others, whatever the mode. The controller
	// doesn't set them, not even when it creates an object.
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	Ignore []IgnoreRule `json:"ignore,omitempty"`
}

// DriftDetectionMode says what becomes of drift.
// +kubebuilder:validation:Enum=Enabled;Warn;Disabled
type DriftDetectionMode string

// Modes of drift detection.
const (
	DriftDetectionEnabled  DriftDetectionMode = "Enabled"
	DriftDetectionWarn     DriftDetectionMode = "Warn"
	DriftDetectionDisabled DriftDetectionMode = "Disabled"
)

// IgnoreRule names fields of objects that are left to others.
//
// +kubebuilder:validation:XValidation:rule="self.paths.all(p, ['/apiVersion', '/kind', '/metadata/name', '/metadata/namespace', '/metadata/ownerReferences', '/spec/selector', '/metadata/labels/app.kubernetes.io~1name', '/metadata/labels/app.kubernetes.io~1instance', '/metadata/labels/app.kubernetes.io~1created-by'].all(q, !(p + '/').startsWith(q + '/') && !(q + '/').startsWith(p + '/')))",message="name, labels, selector and owner of an object can't be left to others"
// +kubebuilder:validation:XValidation:rule="self.target.kind != 'ConfigMap' || self.paths.all(p, ['/data', '/binaryData'].all(q, !(p + '/').startsWith(q + '/') && !(q + '/').startsWith(p + '/')))",message="pages can't be left to others"
// +kubebuilder:validation:XValidation:rule="self.target.kind != 'Deployment' || self.paths.all(p, ['/spec/template/metadata/labels/app.kubernetes.io~1name', '/spec/template/metadata/labels/app.kubernetes.io~1instance', '/spec/template/metadata/labels/app.kubernetes.io~1created-by', '/spec/template/metadata/annotations/view.zoetrope.github.io~1revision', '/spec/template/metadata/annotations/view.zoetrope.github.io~1nginx.conf', '/spec/template/spec/volumes', '/spec/template/spec/initContainers'].all(q, !(p + '/').startsWith(q + '/') && !(q + '/').startsWith(p + '/')) && !p.matches('^/spec/template/spec/containers(/[^/]*(/(name|image|volumeMounts)(/.*)?)?)?$') && !p.matches('^/spec/template/spec/containers/[^/]*/(env/[^/]*/name|ports/[^/]*/(containerPort|protocol))(/.*)?$'))",message="labels, revision, volumes, image and init containers of the pods, and what tells entries of lists apart, can't be left to others"
// +kubebuilder:validation:XValidation:rule="self.target.kind != 'Service' || self.paths.all(p, !p.matches('^/spec/ports(/[^/]*(/(port|protocol)(/.*)?)?)?$'))",message="the Service's ports can't be left to others"
type IgnoreRule struct {
	// Target names the objects.
	// +required
	Target PatchTarget `json:"target"`

	// Paths are JSON pointers (RFC 6901) to the fields: /spec/replicas. "/" in a name is
	// written ~1, "~" is written ~0; a number counts the entries of a list, as it is
	// generated, from 0.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:items:Pattern=`^(/([^/~]|~[01])+)+$`
	// +listType=atomic
	// +required
	Paths []string `json:"paths"`
}

// CommonMetadata holds labels and annotations.
type CommonMetadata struct {
	// Labels to set. Those that the selector is made of can't be, nor those by which Flux
	// says what it has applied.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['app.kubernetes.io/name', 'app.kubernetes.io/instance', 'app.kubernetes.io/created-by', 'pod-template-hash']))",message="app.kubernetes.io/name, app.kubernetes.io/instance, app.kubernetes.io/created-by and pod-template-hash are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('view.zoetrope.github.io/') && !k.startsWith('config.kubernetes.io/') && !k.startsWith('internal.config.kubernetes.io/') && !k.startsWith('config.k8s.io/') && !k.startsWith('kustomize.config.k8s.io/') && !k.startsWith('deployment.kubernetes.io/') && !k.startsWith('kustomize.toolkit.fluxcd.io/') && !k.startsWith('helm.toolkit.fluxcd.io/'))",message="keys below view.zoetrope.github.io, config.kubernetes.io, internal.config.kubernetes.io, config.k8s.io, kustomize.config.k8s.io, deployment.kubernetes.io, kustomize.toolkit.fluxcd.io and helm.toolkit.fluxcd.io are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="a key has at most 317 characters, a value at most 63"
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// Annotations to set, of at most 65,536 bytes together.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, k != 'kubectl.kubernetes.io/last-applied-configuration')",message="kubectl.kubernetes.io/last-applied-configuration is reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('view.zoetrope.github.io/') && !k.startsWith('config.kubernetes.io/') && !k.startsWith('internal.config.kubernetes.io/') && !k.startsWith('config.k8s.io/') && !k.startsWith('kustomize.config.k8s.io/') && !k.startsWith('deployment.kubernetes.io/'))",message="keys below view.zoetrope.github.io, config.kubernetes.io, internal.config.kubernetes.io, config.k8s.io, kustomize.config.k8s.io and deployment.kubernetes.io are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 65536)",message="a key has at most 317 characters, a value at most 65536"
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Patch changes generated objects.
type Patch struct {
	// Patch is the text of a strategic merge patch, or of a JSON patch (RFC 6902), in
	// YAML or JSON.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32768
	// +required
	Patch string `json:"patch"`

	// Target names the objects to patch. Without one, a strategic merge patch is for the
	// object of its own kind and name.
	// +optional
	Target *PatchTarget `json:"target,omitempty"`
}

// PatchTarget names generated objects, for a patch or for a rule.
type PatchTarget struct {
	// Kind of the objects.
	// +kubebuilder:validation:Enum=ConfigMap;Deployment;Service
	// +required
	Kind string `json:"kind"`

	// Name of the object, or a regular expression that names several; empty means all of
	// the kind.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
}

// ContentSource is one source of pages. Exactly one of its members is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMapRef), has(self.directory), has(self.sourceRef)].filter(x, x).size() == 1",message="exactly one of configMapRef, directory and sourceRef must be set"
type ContentSource struct {
	// ConfigMapRef takes each key of a ConfigMap's data and binaryData as a page.
	// +optional
	ConfigMapRef *ConfigMapSource `json:"configMapRef,omitempty"`

	// Directory takes the files of a folder, at build time only.
	// +optional
	Directory *DirectorySource `json:"directory,omitempty"`

	// SourceRef takes the files of a folder in the artifact of one of Flux's
	// sources, in the cluster only.
	// +optional
	SourceRef *SourceReference `json:"sourceRef,omitempty"`
}

// ConfigMapSource names a ConfigMap in the view's own namespace.
type ConfigMapSource struct {
	// Name of the ConfigMap.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Optional says that the ConfigMap may be missing; it then adds no page.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// DirectorySource names a folder that is read when the function runs.
type DirectorySource struct {
	// Path of the folder, relative to the function's working directory and
	// below it. A folder that holds a book.toml is read as a whole mdBook
	// project; any other folder is the book's source folder itself.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +required
	Path string `json:"path"`

	// Ignore lists files to leave out, one pattern a line in the manner of
	// .gitignore, relative to path.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	Ignore string `json:"ignore,omitempty"`
}

// SourceReference names one of Flux's sources, and a folder in its artifact.
type SourceReference struct {
	// Kind of the source.
	// +kubebuilder:validation:Enum=GitRepository;OCIRepository;Bucket;ExternalArtifact
	// +required
	Kind string `json:"kind"`

	// Name of the source.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`

	// Namespace of the source; empty means the view's own. Others are refused, unless the
	// controller runs with --no-cross-namespace-refs=false.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// Path of the folder in the artifact; empty means its root. A folder that
	// holds a book.toml is read as a whole mdBook project; any other folder is
	// the book's source folder itself.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Path string `json:"path,omitempty"`
}

// Kinds of Flux's sources.
const (
	GitRepositoryKind    = "GitRepository"
	OCIRepositoryKind    = "OCIRepository"
	BucketKind           = "Bucket"
	ExternalArtifactKind = "ExternalArtifact"
)

// MarkdownViewStatus is what was observed of a MarkdownView.
type MarkdownViewStatus struct {
	// ObservedGeneration is the generation of the spec that the last final outcome
	// was for; -1 until there is one.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Conditions: Ready, and while true Reconciling or Stalled.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// LastAppliedRevision is the revision that was applied last: that of the
	// sources (main@sha1:…), or the digest of the pages if there is none.
	// +optional
	LastAppliedRevision string `json:"lastAppliedRevision,omitempty"`

	// LastAttemptedRevision is the revision that was to be applied last.
	// +optional
	LastAttemptedRevision string `json:"lastAttemptedRevision,omitempty"`

	// LastAppliedDigest is the digest of the objects that were applied last, where drift is
	// not undone: what differs from them since is drift, and not a change of the view.
	// +optional
	LastAppliedDigest string `json:"lastAppliedDigest,omitempty"`

	// LastHandledReconcileAt is the value of the annotation
	// reconcile.fluxcd.io/requestedAt that was seen last.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// Inventory lists the objects that were applied.
	// +optional
	Inventory *Inventory `json:"inventory,omitempty"`

	// Replicas is how many viewer pods exist, for the scale subresource.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`

	// Selector selects the viewer pods, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
}

// Inventory lists objects, in the manner of Flux.
type Inventory struct {
	// Entries are the objects, in the order in which they were applied.
	// +listType=atomic
	// +required
	Entries []InventoryEntry `json:"entries"`
}

// InventoryEntry is one object of an inventory.
type InventoryEntry struct {
	// ID is <namespace>_<name>_<group>_<kind>.
	// +required
	ID string `json:"id"`

	// Version of the object's API.
	// +required
	Version string `json:"v"`
}

// MarkdownView names Markdown pages that are served as a book by mdBook.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=markdownviews,singular=markdownview,shortName=mdview,categories=all
// +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".spec.replicas"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].status"
// +kubebuilder:printcolumn:name="Status",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].reason"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
// +kubebuilder:printcolumn:name="Message",type="string",JSONPath=".status.conditions[?(@.type==\"Ready\")].message",priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 56 && self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 56 characters, because viewer-<name> names a Service"
type MarkdownView struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec MarkdownViewSpec `json:"spec"`

	// +kubebuilder:default={"observedGeneration":-1}
	// +optional
	Status MarkdownViewStatus `json:"status,omitempty"`
}

// GetConditions returns the conditions of the status.
func (v *MarkdownView) GetConditions() []metav1.Condition {
	return v.Status.Conditions
}

// SetConditions replaces the conditions of the status.
func (v *MarkdownView) SetConditions(conditions []metav1.Condition) {
	v.Status.Conditions = conditions
}

// MarkdownViewList is a list of MarkdownViews.
//
// +kubebuilder:object:root=true
type MarkdownViewList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MarkdownView `json:"items"`
}
