package v1

// Annotations of this API group.
const (
	// RevisionAnnotation stands on the pod template: the digest of everything that
	// mdBook reads, as sha256:<64 hex digits>.
	RevisionAnnotation = "view.zoetrope.github.io/revision"

	// ServerConfigAnnotation stands on the pod template of a view with a static server:
	// the server's configuration, nginx.conf. A patch may replace it.
	ServerConfigAnnotation = "view.zoetrope.github.io/nginx.conf"

	// AdoptAnnotation with the value "true" on a view lets the controller take over
	// an object of the right name that was not generated from the view, unless
	// another controller owns it.
	AdoptAnnotation = "view.zoetrope.github.io/adopt"

	// LastServedAnnotation stands on a copy of pages: the revision that they are of,
	// which was served before others were applied.
	LastServedAnnotation = "view.zoetrope.github.io/last-served"

	// LastPagesAnnotation with the value "true" stands on a pod template, and on its
	// pods, that mounts copies of pages.
	LastPagesAnnotation = "view.zoetrope.github.io/last-pages"

	// ReturnedFromAnnotation stands on a Deployment that has been given the template of
	// the last good pages again: the digest of the template whose pods failed.
	ReturnedFromAnnotation = "view.zoetrope.github.io/returned-from"

	// EditedAnnotation stands on a ConfigMap whose pages somebody else had edited, so
	// that pods may have mounted them: the version that was found.
	EditedAnnotation = "view.zoetrope.github.io/edited"

	// RestartedForAnnotation stands on a pod template: the edits that its pods can't
	// have, because they started later, with commas.
	RestartedForAnnotation = "view.zoetrope.github.io/restarted-for"

	// DirectivesAnnotation stands on an object in a kpt package that has annotations for
	// tools, such as not to delete it, from its view: their keys, with commas.
	DirectivesAnnotation = "view.zoetrope.github.io/directives"
)

// Reasons of the Ready condition.
const (
	// HealthyReason says that every replica serves the pages of this generation.
	HealthyReason = "Healthy"
	// ProgressingReason says that the viewers are being rolled out.
	ProgressingReason = "Progressing"
	// RolloutFailedReason says that the viewers didn't get ready in time.
	RolloutFailedReason = "RolloutFailed"
	// InvalidReason says that the view or its pages break a rule; nothing was
	// changed.
	InvalidReason = "Invalid"
	// PagesNotFoundReason says that a source of pages doesn't exist.
	PagesNotFoundReason = "PagesNotFound"
	// SourceNotFoundReason says that one of Flux's sources doesn't exist, or that
	// its kind isn't installed.
	SourceNotFoundReason = "SourceNotFound"
	// ArtifactFailedReason says that a source has no artifact, or that it can't be
	// fetched.
	ArtifactFailedReason = "ArtifactFailed"
	// AccessDeniedReason says that a source in another namespace may not be used, or that
	// the view's service account may not write what the view expands to.
	AccessDeniedReason = "AccessDenied"
	// ConflictReason says that an object of the right name belongs to somebody
	// else.
	ConflictReason = "Conflict"
	// ContestedReason says that somebody else keeps changing an object.
	ContestedReason = "Contested"
	// ObjectMissingReason says that an object without which nothing is served was deleted,
	// and that drift is left as it is.
	ObjectMissingReason = "ObjectMissing"
	// ApplyFailedReason says that the API server refused an object.
	ApplyFailedReason = "ApplyFailed"
)
