package cluster

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Await waits until nothing is missing any more, and looks once each interval. missing
// returns what is, which the error names after the limit; its own error ends the wait.
func Await(ctx context.Context, limit, interval time.Duration, what string, missing func(context.Context) (string, error)) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, interval, limit, true, func(ctx context.Context) (bool, error) {
		var err error
		last, err = missing(ctx)
		return last == "" && err == nil, err
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w: %s", what, err, last)
	}
	return nil
}
