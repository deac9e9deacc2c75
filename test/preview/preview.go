package preview

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/zoetrope/markdown-view/generator"
)

// Options say what is served, and how.
type Options struct {
	Input
	// MDBook is the program.
	MDBook string
	// Port is where the book is served on the loopback address.
	Port int
	// Folder is where the pod's volumes are laid out. It must be empty, and its path without
	// spaces and quotes.
	Folder string
	// Log gets what the programs say.
	Log io.Writer
	// Ready is called when the book is served for the first time.
	Ready func(view, url string)
}

// Serve serves a view's book until ctx ends. A fault that comes with an edit is logged,
// and what was served before goes on being served; one that is there from the beginning
// is the error.
func Serve(ctx context.Context, o Options) error {
	s := &server{Options: o}
	defer s.stop()
	if o.From != "" && isFolder(o.Path) {
		return errors.New("FROM is for the file of a view: a kustomization is built where it is")
	}
	if err := free(ctx, o.Port); err != nil {
		return err
	}
	watched, seen, err := watch(o.folder())
	if err != nil {
		return err
	}
	if err := s.update(ctx); err != nil {
		return err
	}
	if err := s.awaitServed(ctx); err != nil {
		return err
	}
	o.Ready(s.pod.view, s.url())
	// Looking finds what notifications of some file systems miss, and costs as little.
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ended:
			return fmt.Errorf("mdbook has ended: %w", s.err)
		case <-ticker.C:
		}
		now, err := fingerprint(watched)
		if err != nil || now == seen {
			continue // it is being written, or the same
		}
		seen = now
		if err := s.update(ctx); err != nil && ctx.Err() == nil {
			s.logf("%v: the book stays as it was", err)
		}
	}
}

// server is an mdBook that runs, and what it runs for.
type server struct {
	Options
	// pod, objects and notes are of the last time when the input was right.
	pod     *pod
	objects []byte
	notes   string
	command *exec.Cmd
	ended   chan struct{}
	err     error
}

func (s *server) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Log, "preview: "+format+"\n", args...) // nobody to tell
}

func (s *server) url() string { return fmt.Sprintf("http://127.0.0.1:%d/", s.Port) }

// update has the book be what the input says now.
func (s *server) update(ctx context.Context) error {
	objects, notes, err := s.expand(ctx)
	if notes != s.notes || err != nil {
		s.notes = notes
		_, _ = io.WriteString(s.Log, notes) // nobody to tell
	}
	if err != nil || bytes.Equal(objects, s.objects) {
		return err
	}
	pod, err := podOf(objects, s.Name)
	if err != nil {
		return err
	}
	payloads := map[string]payload{}
	for _, volume := range pod.spec.Volumes {
		if payloads[volume.Name], err = pod.payloadOf(volume); err != nil {
			return err
		}
	}
	for name, payload := range payloads {
		folder := filepath.Join(s.Folder, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if payload == nil {
			continue
		}
		if err := payload.write(folder); err != nil {
			return err
		}
	}
	before := s.pod
	s.pod, s.objects = pod, objects
	for _, c := range pod.spec.InitContainers {
		if c.Name == generator.AssemblerName {
			if err := s.assemble(ctx, c); err != nil {
				return err
			}
		}
	}
	if before != nil && reflect.DeepEqual(settingsOf(before), settingsOf(pod)) {
		return nil // mdBook looks at its files
	}
	s.stop()
	return s.start(ctx)
}

// viewer is the container that runs mdBook: an init container where another one serves.
func (p *pod) viewer() corev1.Container {
	for _, c := range p.spec.InitContainers {
		if c.Name == "mdbook" {
			return c
		}
	}
	return p.spec.Containers[0]
}

// settingsOf is what mdBook reads once, when it starts.
func settingsOf(p *pod) any {
	c := p.viewer()
	var configs []string
	for _, volume := range p.spec.Volumes {
		if files, err := p.payloadOf(volume); err == nil {
			for _, file := range slices.Sorted(maps.Keys(files)) {
				if path.Base(file) == "book.toml" {
					configs = append(configs, string(files[file]))
				}
			}
		}
	}
	return []any{c.Command, c.Args, c.Env, c.VolumeMounts, c.WorkingDir, configs}
}

// assemble runs the init container, which puts large files together.
func (s *server) assemble(ctx context.Context, c corev1.Container) error {
	cmd, err := s.process(ctx, c)
	if err != nil {
		return err
	}
	return cmd.Run()
}

func (s *server) start(ctx context.Context) error {
	c := s.pod.viewer()
	c.Args = slices.Clone(c.Args)
	if at := slices.Index(c.Args, "--hostname"); at >= 0 && at+1 < len(c.Args) {
		c.Args[at+1] = "127.0.0.1" // a preview is for this machine alone
	}
	if len(c.Args) > 0 && c.Args[0] == "build" {
		s.logf("the pods serve what mdBook builds by a static server, below the path of site-url if there is one; here mdBook serves it itself, at /")
		c.Args = []string{"serve", "--hostname", "127.0.0.1"}
	}
	c.Args = append(c.Args, "--port", strconv.Itoa(s.Port))
	cmd, err := s.process(ctx, c)
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.command, s.ended = cmd, make(chan struct{})
	go func(ended chan struct{}) {
		s.err = cmd.Wait()
		close(ended)
	}(s.ended)
	return nil
}

func (s *server) stop() {
	if s.command == nil {
		return
	}
	_ = s.command.Process.Signal(syscall.SIGTERM) // it may be gone already
	select {
	case <-s.ended:
	case <-time.After(5 * time.Second):
		_ = s.command.Process.Kill()
		<-s.ended
	}
	s.command = nil
}

// process is what a container runs, in folders that stand for its mounts.
func (s *server) process(ctx context.Context, c corev1.Container) (*exec.Cmd, error) {
	root := filepath.Join(s.Folder, "root")
	mounts := slices.SortedFunc(slices.Values(c.VolumeMounts), func(a, b corev1.VolumeMount) int { return len(a.MountPath) - len(b.MountPath) })
	var paths []string
	for _, m := range mounts {
		paths = append(paths, regexp.QuoteMeta(m.MountPath))
		at := filepath.Join(root, m.MountPath)
		if err := errors.Join(os.RemoveAll(at), os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(filepath.Join(s.Folder, m.Name, m.SubPath), at)); err != nil {
			return nil, err
		}
	}
	mounted := regexp.MustCompile(`(^|[\s"=])((?:` + strings.Join(paths, "|") + `)(?:[/\s"]|$))`)
	local := func(text string) string {
		return mounted.ReplaceAllString(strings.ReplaceAll(text, "$$", "$"), "${1}"+strings.ReplaceAll(root, "$", "$$")+"${2}")
	}
	var args []string
	for _, argument := range slices.Concat(c.Command, c.Args) {
		args = append(args, local(argument))
	}
	if args[0] == "mdbook" {
		args[0] = s.MDBook
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Stdout, cmd.Stderr = s.Log, s.Log
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(s.MDBook)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	for _, variable := range c.Env {
		cmd.Env = append(cmd.Env, variable.Name+"="+local(variable.Value))
	}
	cmd.Dir = filepath.Join(root, cmp.Or(c.WorkingDir, imageFolder))
	return cmd, os.MkdirAll(cmd.Dir, 0o755)
}

// imageFolder is the working folder of the default image.
const imageFolder = "/book"

// awaitServed waits until the book is served, or mdBook has ended.
func (s *server) awaitServed(ctx context.Context) error {
	client := http.Client{Timeout: 5 * time.Second}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url(), nil)
		if err != nil {
			return err
		}
		if response, err := client.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.ended:
			return fmt.Errorf("mdbook has ended: %w", s.err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// free reports whether something else is served at a port.
func free(ctx context.Context, port int) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return fmt.Errorf("%w: choose another port, as by PORT=3001, -port", err)
	}
	return listener.Close()
}

// mostFiles is how many files of the input are looked at.
const mostFiles = 20000

var errTooMany = fmt.Errorf("there are more than %d files: have the view in a folder of its own", mostFiles)

// watch finds the folder that everything a view is made of is in: the repository, or, if
// there is none or a very large one, the view's own folder.
func watch(folder string) (watched, seen string, err error) {
	folder, err = filepath.Abs(folder)
	if err != nil {
		return "", "", err
	}
	for root := folder; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
			if seen, err = fingerprint(root); err == nil {
				return root, seen, nil
			}
		}
		if root == filepath.Dir(root) {
			seen, err = fingerprint(folder)
			return folder, seen, err
		}
	}
}

// fingerprint tells the files of a folder as they are from what they were.
func fingerprint(folder string) (string, error) {
	hash := sha256.New()
	files := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		if files++; files > mostFiles {
			return fmt.Errorf("%s: %w", folder, errTooMany)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(hash, path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return err
	})
	return string(hash.Sum(nil)), err
}
