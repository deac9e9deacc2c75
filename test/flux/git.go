package flux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zoetrope/markdown-view/test/cluster"
)

// GitServer serves repositories over HTTP, for reading and for pushing.
type GitServer struct {
	folder string
	server *httptest.Server
}

func newGitServer(ctx context.Context, c *cluster.Cluster) (*GitServer, error) {
	programs, err := git(ctx, "", "--exec-path")
	if err != nil {
		return nil, err
	}
	folder := filepath.Join(c.Folder(), "git")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	server, err := serve(c.MachineAddress(), &cgi.Handler{
		Path: filepath.Join(programs, "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"},
	})
	return &GitServer{folder: folder, server: server}, err
}

// serve serves on a free port of an address.
func serve(address string, handler http.Handler) (*httptest.Server, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}} //nolint:gosec // of a test
	server.Start()
	return server, nil
}

// Repository is a repository on the server, with a clone.
type Repository struct {
	// URL is its address in the cluster.
	URL string
	// Folder is the clone's.
	Folder string
}

// Repository makes an empty repository.
func (g *GitServer) Repository(ctx context.Context, name string) (*Repository, error) {
	bare := filepath.Join(g.folder, name+".git")
	r := &Repository{URL: g.server.URL + "/" + name + ".git", Folder: filepath.Join(g.folder, name)}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", bare},
		{"--git-dir=" + bare, "config", "http.receivepack", "true"},
		{"init", "--quiet", "--initial-branch=main", r.Folder},
	} {
		if _, err := git(ctx, "", args...); err != nil {
			return nil, err
		}
	}
	_, err := git(ctx, r.Folder, "remote", "add", "origin", r.URL)
	return r, err
}

// Write writes files, by their paths; an empty text removes one.
func (r *Repository) Write(files map[string]string) error {
	for name, text := range files {
		path := filepath.Join(r.Folder, name)
		if text == "" {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Copy replaces all of the clone's files by those of a folder.
func (r *Repository) Copy(files fs.FS) error {
	if err := r.Clear(); err != nil {
		return err
	}
	return os.CopyFS(r.Folder, files)
}

// Clear removes all of the clone's files.
func (r *Repository) Clear() error {
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() != ".git" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(r.Folder, entry.Name())))
		}
	}
	return err
}

// Push commits what is in the clone, pushes it, and returns what Flux calls its
// revision.
func (r *Repository) Push(ctx context.Context, message string) (string, error) {
	for _, args := range [][]string{
		{"add", "--all"},
		{"commit", "--quiet", "--allow-empty", "--message=" + message},
		// In one piece: net/http/cgi takes no other.
		{"-c", "http.postBuffer=104857600", "push", "--quiet", "origin", "main"},
	} {
		if _, err := git(ctx, r.Folder, args...); err != nil {
			return "", err
		}
	}
	commit, err := git(ctx, r.Folder, "rev-parse", "HEAD")
	return "main@sha1:" + commit, err
}

// Revert takes back the last commit, and pushes.
func (r *Repository) Revert(ctx context.Context) (string, error) {
	if _, err := git(ctx, r.Folder, "revert", "--no-commit", "HEAD"); err != nil {
		return "", err
	}
	return r.Push(ctx, "Revert the last commit")
}

// git runs git without the settings of whoever runs the tests.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Writer", "GIT_AUTHOR_EMAIL=writer@example.com",
		"GIT_COMMITTER_NAME=Writer", "GIT_COMMITTER_EMAIL=writer@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
