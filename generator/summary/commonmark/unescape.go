package commonmark

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"
)

// Unescape resolves backslash escapes and character references, as CommonMark
// wants it: in one pass, so that `\&amp;` stays `&amp;`.
func Unescape(source []byte) string {
	if bytes.IndexByte(source, '\\') < 0 && bytes.IndexByte(source, '&') < 0 {
		return string(source)
	}
	out := make([]byte, 0, len(source))
	for i := 0; i < len(source); {
		switch c := source[i]; {
		case c == '\\' && i+1 < len(source) && util.IsPunct(source[i+1]):
			out = append(out, source[i+1])
			i += 2
		case c == '&':
			if value, length := reference(source[i:]); length > 0 {
				out = append(out, value...)
				i += length
				continue
			}
			fallthrough
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out)
}

// longestName is a little more than the longest entity of HTML 5.
const longestName = 40

// reference reads the character reference at the beginning of source. Its
// length is 0 if there is none.
func reference(source []byte) (value []byte, length int) {
	semicolon := bytes.IndexByte(source[:min(len(source), longestName)], ';')
	if semicolon < 2 {
		return nil, 0
	}
	name := string(source[1:semicolon])
	if name[0] != '#' {
		if entity, ok := util.LookUpHTML5EntityByName(name); ok {
			return entity.Characters, semicolon + 1
		}
		return nil, 0
	}
	digits, base, most := name[1:], 10, 7
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		digits, base, most = digits[1:], 16, 6
	}
	if digits == "" || len(digits) > most {
		return nil, 0
	}
	code, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return nil, 0
	}
	r := rune(code)
	if r == 0 || !utf8.ValidRune(r) {
		r = utf8.RuneError
	}
	return utf8.AppendRune(nil, r), semicolon + 1
}
