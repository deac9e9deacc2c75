package outcome

import (
	"errors"
	"testing"
)

func TestErrorMessage(t *testing.T) {
	cause := errors.New("connection refused")
	for want, err := range map[string]*Error{
		"no artifact":               {Message: "no artifact"},
		"connection refused":        {Err: cause},
		"fetch: connection refused": {Message: "fetch", Err: cause},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if err.Err != nil && !errors.Is(err, cause) {
			t.Errorf("%v hides its cause", err)
		}
	}
}
