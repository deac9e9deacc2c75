package function

import "io"

// chunks holds what is written to it until all of it is there. It takes memory as it
// fills, where a bytes.Buffer doubles and copies.
type chunks [][]byte

const chunkBytes = 128 << 10

// Write never fails.
func (c *chunks) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		if n := len(*c); n == 0 || len((*c)[n-1]) == chunkBytes {
			*c = append(*c, make([]byte, 0, chunkBytes))
		}
		last := &(*c)[len(*c)-1]
		n := min(len(p), chunkBytes-len(*last))
		*last = append(*last, p[:n]...)
		p = p[n:]
	}
	return written, nil
}

func (c *chunks) writeTo(w io.Writer) error {
	for _, chunk := range *c {
		if _, err := w.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}
