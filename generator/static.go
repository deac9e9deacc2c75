package generator

import (
	"cmp"
	"net/url"
	"path"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	v1 "github.com/zoetrope/markdown-view/api/v1"
	"github.com/zoetrope/markdown-view/generator/book"
)

// With spec.staticServer mdBook builds the site once, in an init container, and nginx
// serves it.
const (
	// ServerName is the name of the container that serves a site which mdBook has built.
	ServerName = "server"

	// DefaultServerImage serves views with spec.staticServer that name no image.
	DefaultServerImage = "nginx:1.30.5-alpine-slim"

	ownPath = "/.markdown-view"
	// RevisionPath is where such a view answers with the revision that it serves.
	RevisionPath = ownPath + "/revision"
	// HealthPath is where it answers as soon as it serves.
	HealthPath = ownPath + "/health"

	serverVolume  = "server"
	scratchVolume = "scratch"
	serverFolder  = "/etc/markdown-view"
	scratchFolder = "/tmp"
	serverConfig  = "nginx.conf"
	revisionName  = "revision"

	// scratchBytes is for nginx's process ID: it writes nothing else, as it takes no
	// request that has a body.
	scratchBytes = 4 * mebibyte
	// serverMemory is the server's limit, in bytes. With 3,000 readers that keep their
	// connections it takes a quarter of it.
	serverMemory = 64 * mebibyte
)

// nginxConfig is nginx's, but for the folder of the site. It holds nothing that depends on
// the pages, so that a patch which replaces it holds for any.
//
// Below the path of site-url it serves the same as at the root, so that a gateway may pass
// the path on or strip it.
//
// Nothing is served from a browser's cache unasked but files whose name holds the digest of
// their content, and only where they are there: in a rollout a reader may ask a pod for the
// files of another. Redirects are relative, because a gateway may have taken a prefix off
// the path.
const nginxConfig = `worker_processes 1;
pid /tmp/nginx.pid;
error_log stderr warn;
events {
  worker_connections 4096;
}
http {
  include /etc/nginx/mime.types;
  default_type application/octet-stream;
  charset utf-8;
  access_log off;
  server_tokens off;
  absolute_redirect off;
  sendfile on;
  gzip on;
  gzip_vary on;
  gzip_proxied any;
  gzip_min_length 1024;
  gzip_types text/css text/plain text/javascript application/javascript application/json image/svg+xml;
  client_body_temp_path /tmp/body;
  proxy_temp_path /tmp/proxy;
  fastcgi_temp_path /tmp/fastcgi;
  uwsgi_temp_path /tmp/uwsgi;
  scgi_temp_path /tmp/scgi;
  map "$status$uri" $cache {
    default no-cache;
    "~^(200|304)/(css/|fonts/|)[A-Za-z0-9.-]+-[0-9a-f]{8}(\.min)?\.(css|js|woff2|svg|png)$" "public, max-age=31536000, immutable";
  }
  server {
    listen 3000;
    root @site@;
@below@    error_page 404 /404.html;
    add_header Cache-Control $cache always;
    add_header X-Content-Type-Options nosniff always;
    add_header Referrer-Policy strict-origin-when-cross-origin always;
    add_header Content-Security-Policy "frame-ancestors 'self'" always;
    location / {
      try_files $uri @folder;
    }
    location ~ /$ {
      try_files $uri/index.html =404;
    }
    location @folder {
      if (-d $request_filename) {
        rewrite "^.*/([^/]+)$" "$1/" permanent;
      }
      return 404;
    }
    location = ` + HealthPath + ` {
      default_type text/plain;
      return 200 "ok\n";
    }
    location = ` + RevisionPath + ` {
      default_type text/plain;
      alias ` + serverFolder + `/` + revisionName + `;
    }
  }
}
`

// belowPath serves the site below a path, which needs its last slash.
const belowPath = `    rewrite "^@path@/(.*)$" "/$1";
    location = @path@ {
      rewrite ^ "@name@/" permanent;
    }
`

// sitePath is the path of site-url without its last slash, which may be all of it; ok is
// false if that isn't one that nginx can be told as it is, or is among the server's own.
func sitePath(siteURL string) (p string, ok bool) {
	at, err := url.Parse(siteURL)
	if err != nil {
		return "", false
	}
	p = strings.TrimSuffix(path.Clean("/"+at.Path), "/")
	isOwn := p == ownPath || strings.HasPrefix(p, ownPath+"/")
	return p, len(p) <= maxSitePath && plainPath.MatchString(p) && !isOwn
}

// maxSitePath is the most bytes that the path of site-url may have: nginx takes 4,096 in
// one parameter.
const maxSitePath = 1024

// plainPath matches paths that neither nginx nor a regular expression takes for anything
// else, but for dots.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// siteFolder is where mdBook writes the HTML: below the folder that it builds in if it has
// other renderers, too.
func siteFolder(files layout, config book.Config) string {
	if config.SeveralRenderers {
		return path.Join(files.buildDir(), "html")
	}
	return files.buildDir()
}

// serveStatically has the container that runs mdBook build the site before another serves
// it.
func serveStatically(spec *corev1ac.PodSpecApplyConfiguration, view *v1.MarkdownView) {
	builder := &spec.Containers[0]
	builder.Args = []string{"build"}
	builder.Ports, builder.LivenessProbe, builder.ReadinessProbe, builder.StartupProbe, builder.Lifecycle = nil, nil, nil, nil, nil
	spec.InitContainers = append(spec.InitContainers, *builder)
	spec.Containers = nil
	spec.WithContainers(server(view)).WithVolumes(
		corev1ac.Volume().WithName(serverVolume).WithDownwardAPI(corev1ac.DownwardAPIVolumeSource().WithItems(
			annotationFile(serverConfig, v1.ServerConfigAnnotation),
			annotationFile(revisionName, v1.RevisionAnnotation))),
		corev1ac.Volume().WithName(scratchVolume).WithEmptyDir(corev1ac.EmptyDirVolumeSource().
			WithSizeLimit(*resource.NewQuantity(scratchBytes, resource.BinarySI))))
}

func annotationFile(name, annotation string) *corev1ac.DownwardAPIVolumeFileApplyConfiguration {
	return corev1ac.DownwardAPIVolumeFile().
		WithPath(name).
		WithFieldRef(corev1ac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.annotations['" + annotation + "']"))
}

func server(view *v1.MarkdownView) *corev1ac.ContainerApplyConfiguration {
	return serving(corev1ac.Container().WithName(ServerName), HealthPath).
		WithImage(cmp.Or(view.Spec.StaticServer.Image, DefaultServerImage)).
		WithImagePullPolicy(corev1.PullIfNotPresent).
		WithCommand("nginx").
		WithArgs("-e", "stderr", "-c", path.Join(serverFolder, serverConfig), "-g", "daemon off;").
		WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
		WithResources(memoryOf(serverMemory/4, serverMemory)).
		WithSecurityContext(restricted()).
		WithVolumeMounts(
			corev1ac.VolumeMount().WithName(buildVolume).WithMountPath(buildFolder).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(serverVolume).WithMountPath(serverFolder).WithReadOnly(true),
			corev1ac.VolumeMount().WithName(scratchVolume).WithMountPath(scratchFolder))
}

// serverAnnotations are those of the pods of a view with a static server.
func serverAnnotations(view *v1.MarkdownView, files layout, config book.Config) map[string]string {
	if view.Spec.StaticServer == nil {
		return nil
	}
	below := ""
	if p, ok := sitePath(config.SiteURL); ok && p != "" && !config.HTMLIgnored {
		below = strings.NewReplacer("@path@", p, "@name@", path.Base(p)).Replace(belowPath)
		below = strings.Replace(below, `"^`+p, `"^`+regexp.QuoteMeta(p), 1)
	}
	text := strings.NewReplacer("@site@", siteFolder(files, config), "@below@", below).Replace(nginxConfig)
	return map[string]string{v1.ServerConfigAnnotation: text}
}
