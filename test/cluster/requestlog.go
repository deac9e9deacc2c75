package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// markPath is asked for to find out how far the log is. What is asked there is
// no request of the test's and is left out.
const markPath = "/version?mark="

// logPatience is how long the log of an answered request is waited for. It is there at
// once; the machine may be busy.
const logPatience = time.Minute

// requestLog reads the API server's audit log, each line once.
type requestLog struct {
	path string

	mu       sync.Mutex
	offset   int64
	requests []Request
	// open are the long-running requests that were counted when they began,
	// by audit id: they are logged again when they end.
	open  map[string]bool
	marks map[string]Mark
	last  int
}

// mark makes a request and reads the log up to its line. The log is written in
// the order of the answers, and before each of them, so all that was answered
// before this request was made is above its line.
func (l *requestLog) mark(ctx context.Context, client rest.Interface) (Mark, error) {
	l.mu.Lock()
	l.last++
	id := strconv.Itoa(l.last)
	l.mu.Unlock()
	if err := client.Get().RequestURI(markPath + id).Do(ctx).Error(); err != nil {
		return 0, fmt.Errorf("marking the request log: %w", err)
	}
	deadline := time.Now().Add(logPatience)
	for {
		if err := l.read(); err != nil {
			return 0, fmt.Errorf("reading the request log: %w", err)
		}
		l.mu.Lock()
		mark, found := l.marks[id]
		delete(l.marks, id)
		l.mu.Unlock()
		if found {
			return mark, nil
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("the request log %s doesn't show a request that was answered %s ago", l.path, logPatience)
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// between returns a copy of a part of the log.
func (l *requestLog) between(since, until Mark) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.requests[min(max(since, 0), until):until])
}

// read takes in the lines that were added since it was called last.
func (l *requestLog) read() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	file, err := os.Open(l.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(l.offset, io.SeekStart); err != nil {
		return err
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	for {
		line, rest, complete := bytes.Cut(content, []byte("\n"))
		if !complete {
			return nil // the rest of the line is still to be written
		}
		if err := l.add(line); err != nil {
			return err
		}
		l.offset += int64(len(line)) + 1
		content = rest
	}
}

// auditEvent is what is used of an audit.k8s.io/v1 Event.
type auditEvent struct {
	AuditID          string    `json:"auditID"`
	Stage            string    `json:"stage"`
	RequestURI       string    `json:"requestURI"`
	Verb             string    `json:"verb"`
	UserAgent        string    `json:"userAgent"`
	Received         time.Time `json:"requestReceivedTimestamp"`
	User             auditUser `json:"user"`
	ImpersonatedUser auditUser `json:"impersonatedUser"`
	ObjectRef        struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

type auditUser struct {
	Username string `json:"username"`
}

func (l *requestLog) add(line []byte) error {
	var event auditEvent
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("%w in %q", err, line)
	}
	if l.open == nil {
		l.open, l.marks = map[string]bool{}, map[string]Mark{}
	}
	if id, isMark := strings.CutPrefix(event.RequestURI, markPath); isMark {
		l.marks[id] = Mark(len(l.requests))
		return nil
	}
	switch {
	case event.Stage == "ResponseStarted":
		l.open[event.AuditID] = true
	case l.open[event.AuditID]:
		delete(l.open, event.AuditID)
		return nil
	}
	l.requests = append(l.requests, event.request())
	return nil
}

func (e auditEvent) request() Request {
	request := Request{
		User:        e.User.Username,
		UserAgent:   e.UserAgent,
		Verb:        e.Verb,
		Resource:    e.ObjectRef.Resource,
		Subresource: e.ObjectRef.Subresource,
		Namespace:   e.ObjectRef.Namespace,
		Name:        e.ObjectRef.Name,
		URI:         e.RequestURI,
		Code:        e.ResponseStatus.Code,
		Received:    e.Received,
	}
	if e.ObjectRef.Group != "" {
		request.Resource += "." + e.ObjectRef.Group
	}
	if e.ImpersonatedUser.Username != "" {
		request.User, request.Impersonator = e.ImpersonatedUser.Username, e.User.Username
	}
	return request
}
