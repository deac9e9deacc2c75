package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestConnectEndsWhatAnswersNobody(t *testing.T) {
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler) // the client reads EOF, as from a kubectl without its node
	}))
	t.Cleanup(silent.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	d := &demo{repository: t.TempDir()}
	d.connect(ctx, "exec sleep 600", silent.URL, time.Second, io.Discard)
	if err := ctx.Err(); err != nil {
		t.Errorf("it goes on: %v", err)
	}
}

func TestConnectKeepsWhatAnswers(t *testing.T) {
	asked := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked <- struct{}{} }))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	d, ended := &demo{repository: t.TempDir()}, make(chan struct{})
	go func() {
		defer close(ended)
		d.connect(ctx, "exec sleep 600", server.URL, 500*time.Millisecond, io.Discard)
	}()
	for range 30 { // three times as long as it may be silent
		select {
		case <-asked:
		case <-ended:
			t.Fatal("it was ended")
		}
	}
	cancel()
	<-ended
}
