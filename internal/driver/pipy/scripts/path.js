// The canonical form of a path, which is matched and forwarded: see canonicalPath of the model. Different spellings of
// a path do not bypass a rule.
((
  // Expressions compare short texts only: their depth of recursion is the length of the text.
  step = 1000,
  each = (expression, text) => new Array(Math.ceil(text.length / step)).fill(0).every(
    (_, i) => expression.test(text.substring(i * step, i * step + step))
  ),
  plain = new RegExp('^[A-Za-z0-9/_.~-]*$'),
  valid = new RegExp('^[!-"$-~]*$'),
  hex = '0123456789abcdef',
  unreserved = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~',
  escapes = { '"': '%22', '<': '%3C', '>': '%3E', '^': '%5E', '`': '%60', '{': '%7B', '|': '%7C', '}': '%7D', '\\': '/' },
  printable = new Array(95).fill(0).map((_, i) => String.fromCharCode(32 + i)),
  digit = c => hex.indexOf(c.toLowerCase()),

  // decode returns [text, true] for an escaped unreserved character, and [text, false] for an escaped NUL.
  decoded = (a, b) => (
    (n) => n === 0 ? null : n >= 32 && n < 127 && unreserved.indexOf(printable[n - 32]) >= 0 ? printable[n - 32] : undefined
  )(digit(a) * 16 + digit(b)),

  escape = path => path.split('').reduce(
    (s, c, i) => s.bad || i < s.next ? s : (
      c === '%' && i + 2 < path.length && digit(path.charAt(i + 1)) >= 0 && digit(path.charAt(i + 2)) >= 0 ? (
        (d) => (
          d === null ? (s.bad = true) :
          d !== undefined && s.out.substring(s.out.length - 2).indexOf('%') < 0 ? (s.out += d, s.next = i + 3) :
          (s.out += c)
        )
      )(decoded(path.charAt(i + 1), path.charAt(i + 2))) : (s.out += escapes[c] || c),
      s
    ),
    { out: '', next: 0, bad: false }
  ),

  dots = path => (
    (segments) => '/' + segments.reduce(
      (out, segment, i) => (
        (bare) => bare !== '.' && bare !== '..' ? (out.push(segment), out) : (
          bare === '..' && out.pop(),
          i === segments.length - 1 && out.push(''),
          out
        )
      )(segment.split(';')[0]),
      []
    ).join('/')
  )(path.substring(1).split('/')),

  merge = path => path.split('').reduce((out, c) => c === '/' && out.endsWith('/') ? out : out + c, ''),
) => target => (
  (at) => (
    (path, query) => !path.startsWith('/') ? target : !each(valid, target) ? null : (
      each(plain, path) && path.indexOf('//') < 0 && path.indexOf('/.') < 0 ? target : (
        (escaped) => escaped.bad ? null : merge(dots(escaped.out)) + query
      )(escape(path))
    )
  )(at < 0 ? target : target.substring(0, at), at < 0 ? '' : target.substring(at))
)(target.indexOf('?')))()
