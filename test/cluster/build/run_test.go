package build

import (
	"os/signal"
	"syscall"
	"testing"
)

func TestTheEndOfATerminalEndsWhatIsCompiled(t *testing.T) {
	if signal.Ignored(syscall.SIGHUP) {
		t.Skip("SIGHUP is ignored")
	}
	ctx, stop := Interruptible()
	defer stop()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	<-ctx.Done()
}
