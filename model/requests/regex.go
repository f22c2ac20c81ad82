package requests

import (
	"regexp"
	"regexp/syntax"
	"slices"
)

// maxSamples limits the samples of a regular expression.
const maxSamples = 8

// samples returns strings that a regular expression matches as a whole, one for each of its alternatives, and one
// that it does not match.
func samples(pattern string) []string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	whole, err2 := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil || err2 != nil {
		return nil
	}
	var out []string
	for _, s := range generate(parsed.Simplify()) {
		if whole.MatchString(s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, s := range out {
		if mutant := s + other; !whole.MatchString(mutant) {
			return append(out, mutant)
		}
	}
	return out
}

// generate returns strings of an expression; a few of them may not match, because of assertions.
func generate(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return runes(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return []string{"x"}
	case syntax.OpCapture, syntax.OpPlus:
		return generate(re.Sub[0])
	case syntax.OpStar, syntax.OpQuest:
		return limited(append(generate(re.Sub[0]), ""))
	case syntax.OpRepeat:
		var out []string
		for _, s := range generate(re.Sub[0]) {
			text := ""
			for range max(1, re.Min) {
				text += s
			}
			out = append(out, text)
		}
		return out
	case syntax.OpAlternate:
		var out []string
		for _, sub := range re.Sub {
			out = append(out, generate(sub)...)
		}
		return limited(out)
	case syntax.OpConcat:
		out := []string{""}
		for _, sub := range re.Sub {
			out = appendEach(out, generate(sub))
		}
		return out
	}
	return []string{""} // assertions, and the empty expression
}

// appendEach appends suffixes to strings: the first suffix to each string, and each suffix to the first string.
func appendEach(all, suffixes []string) []string {
	if len(suffixes) == 0 {
		return nil
	}
	var out []string
	for i, s := range all {
		for j, suffix := range suffixes {
			if i == 0 || j == 0 {
				out = append(out, s+suffix)
			}
		}
	}
	return limited(out)
}

func limited(all []string) []string { return all[:min(len(all), maxSamples)] }

// runes returns runes of a class: one that is usual in text, if there is one, and the ends of its ranges in ASCII.
// Ranges are pairs of runes.
func runes(ranges []rune) []string {
	var out []string
	add := func(r rune) {
		if s := string(r); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, usual := range "xa0A-_/" {
		for i := 0; i+1 < len(ranges) && len(out) == 0; i += 2 {
			if ranges[i] <= usual && usual <= ranges[i+1] {
				add(usual)
			}
		}
	}
	for _, r := range ranges {
		if r > ' ' && r < 0x7f {
			add(r)
		}
	}
	if len(out) == 0 && len(ranges) > 0 {
		add(ranges[0])
	}
	return limited(out)
}
