package artifact

import "time"

// Limits bound what is fetched and kept. Zero in a field means its default.
type Limits struct {
	// DownloadBytes is the most bytes of an archive; 128 MiB.
	DownloadBytes int64
	// Bytes is the most bytes that all of an archive may take of the disk, in blocks of
	// 4 KiB; 512 MiB.
	Bytes int64
	// Entries is the most files and folders of an archive; 50,000.
	Entries int
	// KeptBytes is the most bytes of all unpacked archives that are kept; 1 GiB.
	// What was used last stays, and what is being read.
	KeptBytes int64
	// Kept is the most archives that are kept; 4,096.
	Kept int
	// Timeout is how long a fetch may take, with all that is done to an archive; 30 seconds.
	Timeout time.Duration
	// Quick is how long a fetch from a source that is known to be quick may take before it
	// counts as one that takes long; 2 seconds. Probe is the same of other sources; half a
	// second.
	Quick, Probe time.Duration
	// Fetches is how many artifacts are fetched at once; 12. Half of them are those that take
	// long, at most, and a quarter is left to sources that are known to be quick.
	Fetches int
	// FetchesOfNamespace is how many of them may be of sources in one namespace; 2.
	FetchesOfNamespace int
	// Unpacked is how many archives are unpacked at once, one for each namespace, of which one
	// is left to sources that are known to be quick; 3. With Fetches it bounds what is on the
	// disk beside what is kept.
	Unpacked int
}

func (l Limits) orDefault() Limits {
	if l.DownloadBytes == 0 {
		l.DownloadBytes = 128 << 20
	}
	if l.Bytes == 0 {
		l.Bytes = 512 << 20
	}
	if l.Entries == 0 {
		l.Entries = 50_000
	}
	if l.KeptBytes == 0 {
		l.KeptBytes = 1 << 30
	}
	if l.Kept == 0 {
		l.Kept = 4096
	}
	if l.Timeout == 0 {
		l.Timeout = 30 * time.Second
	}
	if l.Quick == 0 {
		l.Quick = 2 * time.Second
	}
	if l.Probe == 0 {
		l.Probe = 500 * time.Millisecond
	}
	if l.Fetches == 0 {
		l.Fetches = 12
	}
	if l.FetchesOfNamespace == 0 {
		l.FetchesOfNamespace = 2
	}
	if l.Unpacked == 0 {
		l.Unpacked = 3
	}
	return l
}
