package capture

import "bytes"

// A shape is what the tokens of somebody look like: how they begin, and how many characters follow at least.
type shape struct {
	prefix string
	least  int
}

// shapes are those that cannot be mistaken for something else.
var shapes = []shape{
	{"sk-", 20},         // OpenAI, Anthropic, OpenRouter and others
	{"sk_live_", 16},    // Stripe
	{"rk_live_", 16},    // Stripe
	{"ghp_", 30},        // GitHub, and the four that follow
	{"gho_", 30},        //
	{"ghu_", 30},        //
	{"ghs_", 30},        //
	{"ghr_", 30},        //
	{"github_pat_", 40}, //
	{"glpat-", 16},      // GitLab
	{"AKIA", 16},        // AWS, the id of a key
	{"ASIA", 16},        // the same, for a time
	{"AIza", 30},        // Google
	{"ya29.", 20},       // Google
	{"xoxb-", 16},       // Slack, and the three that follow
	{"xoxp-", 16},       //
	{"xapp-", 16},       //
	{"xoxa-", 16},       //
	{"hf_", 30},         // Hugging Face
	{"npm_", 30},        // npm
	{"pypi-", 40},       // PyPI
	{"dop_v1_", 40},     // DigitalOcean
	{"tvly-", 20},       // Tavily
	{"fc-", 30},         // Firecrawl
	{"gsk_", 30},        // Groq
	{"SG.", 40},         // SendGrid
}

// webToken begins a JSON Web Token, which has two dots in it.
const webToken = "eyJ"

// isToken says whether a byte may be part of a token.
func isToken(b byte) bool { return tokenBytes[b] }

var tokenBytes = func() (set [256]bool) {
	for _, b := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") {
		set[b] = true
	}
	return set
}()

// first are the bytes that tokens begin with.
var first = func() (set [256]bool) {
	set[webToken[0]] = true
	for _, s := range shapes {
		set[s.prefix[0]] = true
	}
	return set
}()

// tokens finds what looks like a token. It is one word, and begins where the word does.
func tokens(p []byte) []span {
	var found []span
	for at := 0; at < len(p); at++ {
		if !tokenBytes[p[at]] {
			continue
		}
		end := at + 1
		for end < len(p) && tokenBytes[p[end]] {
			end++
		}
		if first[p[at]] && isSecret(p[at:end]) {
			found = append(found, span{at, end})
		}
		at = end
	}
	return found
}

func isSecret(word []byte) bool {
	for _, s := range shapes {
		if len(word) >= len(s.prefix)+s.least && bytes.HasPrefix(word, []byte(s.prefix)) && mixed(word[len(s.prefix):]) {
			return true
		}
	}
	return len(word) > 60 && bytes.HasPrefix(word, []byte(webToken)) && bytes.Count(word, []byte(".")) == 2
}

// mixed says whether a word has digits in it, as tokens have and names put together by dashes rarely do.
func mixed(word []byte) bool { return bytes.ContainsAny(word, "0123456789") }

// What is around a private key.
var (
	keyBegin = []byte("-----BEGIN ")
	keyKind  = []byte("PRIVATE KEY-----")
	keyEnd   = []byte("-----END ")
)

// keys finds private keys: from the line that begins one to the line that ends it. Open is where one begins, or may,
// whose end is not there yet, or -1.
func keys(p []byte) (found []span, open int) {
	for at := 0; ; {
		i := bytes.Index(p[at:], keyBegin)
		if i < 0 {
			return found, -1
		}
		from := at + i
		line, _, whole := bytes.Cut(p[from:], []byte("\n"))
		switch end := bytes.Index(p[from:], keyEnd); {
		case !whole && len(line) < longestKeyLine && !bytes.Contains(line, keyKind):
			return found, from // more of the line may say that it is one
		case !bytes.Contains(line, keyKind):
			at = from + len(keyBegin)
		case end < 0 || !bytes.Contains(p[from+end:], keyKind):
			return found, from
		default:
			at = from + end
			at += bytes.Index(p[at:], keyKind) + len(keyKind)
			found = append(found, span{from, at})
		}
	}
}

// longestKeyLine is more than the line that begins a private key has.
const longestKeyLine = 64

// isKey says whether what begins here is a private key, though its end is missing.
func isKey(p []byte) bool {
	line, _, _ := bytes.Cut(p, []byte("\n"))
	return bytes.Contains(line, keyKind)
}
