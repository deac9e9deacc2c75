package build

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestHalfAProgramIsRemoved(t *testing.T) {
	failed := errors.New("killed")
	for name, test := range map[string]struct {
		there  bool
		write  string
		result error
		stays  bool
	}{
		"nothing was there, nor written": {false, "", failed, false},
		"half of it is new":              {false, "half", failed, false},
		"half of it is in place of one":  {true, "half", failed, false},
		"what was there wasn't touched":  {true, "", failed, true},
		"all is well":                    {true, "whole", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "program")
			if test.there {
				if err := os.WriteFile(program, []byte("earlier"), 0o755); err != nil {
					t.Fatal(err)
				}
				hourAgo := time.Now().Add(-time.Hour)
				if err := os.Chtimes(program, hourAgo, hourAgo); err != nil {
					t.Fatal(err)
				}
			}
			err := wholeOrNone(program, func() error {
				if test.write == "" {
					return test.result
				}
				return errors.Join(test.result, os.WriteFile(program, []byte(test.write), 0o755))
			})
			if !errors.Is(err, test.result) {
				t.Errorf("it returns %v, want %v", err, test.result)
			}
			if _, err := os.Stat(program); (err == nil) != test.stays {
				t.Errorf("it is there: %t, want %t", err == nil, test.stays)
			}
		})
	}
}
