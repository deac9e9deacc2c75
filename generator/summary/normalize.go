package summary

import "bytes"

// normalize writes a text such that goldmark sees the blocks that pulldown_cmark
// and CommonMark see. Lines keep their numbers, bytes don't keep their offsets.
//
//   - Lines end with \n.
//   - Tabs at the beginning of a line, between list markers too, are spaces up to
//     the next multiple of four: goldmark counts those after a nested marker
//     from the wrong column.
//   - Where a line begins with <, goldmark knows no tab after a tag's name, no
//     declaration in small letters (<!x>), but a tag that begins with </ and a
//     space.
func normalize(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	out := make([]byte, 0, len(text)+len(text)/8)
	for line := range bytes.Lines(text) {
		out = appendNormal(out, line)
	}
	return out
}

func appendNormal(out, line []byte) []byte {
	column := 0
	for i, c := range line {
		switch rest := line[i:]; {
		case c == '\t':
			for spaces := 4 - column%4; spaces > 0; spaces-- {
				out = append(out, ' ')
				column++
			}
		case bytes.IndexByte([]byte(" >-+*.)0123456789"), c) >= 0:
			out = append(out, c)
			column++
		case c == '<':
			return appendTag(out, rest)
		default:
			return append(out, rest...)
		}
	}
	return out
}

// appendTag appends the rest of a line that begins with <.
func appendTag(out, rest []byte) []byte {
	rest = bytes.ReplaceAll(rest, []byte{'\t'}, []byte{' '})
	switch {
	case bytes.HasPrefix(rest, []byte("</ ")):
		out = append(out, '\\')
	case bytes.HasPrefix(rest, []byte("<!")) && len(rest) > 2:
		out = append(out, bytes.ToUpper(rest[:3])...)
		rest = rest[3:]
	}
	return append(out, rest...)
}
