// Rules and clusters of the configuration: which rule a request matches, and where it goes.
((
  canonical = pipy.solve('path.js'),
  // longest is the length of texts that regular expressions compare: their depth of recursion is the length of the text.
  longest = 2000,
  expressions = {},
  expression = (text, flags) => expressions[text + flags] || (
    expressions[text + flags] = new RegExp('^(?:' + text + ')$', flags)
  ),
  turns = {},
  masks = {},
  mask = range => masks[range] || (masks[range] = new Netmask(range)),

  compare = (type, value, text) => (
    type === 'Exact' ? text === value :
    type === 'Prefix' ? text.startsWith(value) :
    type === 'PathPrefix' ? text === value || text.startsWith(value + '/') :
    type === 'Suffix' ? text.endsWith(value) :
    type === 'Regex' ? text.length <= longest && expression(value, '').test(text) :
    type === 'RegexIgnoreCase' ? text.length <= longest && expression(value, 'i').test(text) :
    false
  ),

  // joined returns the value of a header. Several fields with one name are joined by commas.
  joined = value => value === undefined || value === null ? undefined : typeof value === 'string' ? value : value.join(','),

  field = (request, name) => (
    name === 'host' || name === ':authority' ? (request.host ? request.host.toLowerCase() : undefined) :
    name === ':method' ? request.method :
    name === ':path' ? request.target :
    joined(request.headers[name])
  ),

  header = (match, value) => (
    match.Type === 'Present' ? value !== undefined :
    value === undefined && !match.Invert ? false :
    compare(match.Type, match.Value || '', value || '')
  ),

  within = (ranges, address) => !ranges || ranges[address] || Object.keys(ranges).some(
    range => range.indexOf('/') >= 0 && mask(range).contains(address)
  ),

  asks = (names, name) => !names || name !== undefined && names.some(
    n => n.startsWith('*') ? name.endsWith(n.substring(1)) && name.length >= n.length : n === name
  ),

  connects = (clients, client) => (
    !!clients.TLS === client.tls && within(clients.Addresses, client.address) && asks(clients.ServerNames, client.asked)
  ),

  // allowed reports whether a rule is for a client. "*" is for each client with a name.
  allowed = (rule, client) => (!rule.Clients || connects(rule.Clients, client)) && (
    !rule.AllowedServices || rule.AllowedServices.some(
      name => name === '*' ? client.names.length > 0 : client.names.indexOf(name) >= 0
    )
  ),

  matches = (rule, request, client) => (
    allowed(rule, client) &&
    (!rule.Type || compare(rule.Type, rule.Path || '', request.path)) &&
    (!rule.Methods || rule.Methods.indexOf(request.method) >= 0) &&
    (!rule.Headers || rule.Headers.every(h => header(h, field(request, h.Name)) !== !!h.Invert))
  ),

  // chosen returns one of the names by weight: the first whose part of the sum has the number.
  chosen = (weights, names, number) => names.reduce(
    (s, name) => s.name !== undefined ? s : (
      number < s.sum + weights[name] ? { name } : { sum: s.sum + weights[name] }
    ),
    { sum: 0 }
  ).name,
  total = (weights, names) => names.reduce((sum, name) => sum + weights[name], 0),

  isCall = request => joined(request?.headers['content-type'])?.startsWith?.('application/grpc'),
  callStatus = { 400: '13', 403: '7', 404: '12', 503: '14' },

  // longestKept is the length of requests that are kept to be sent again.
  longestKept = 65536,

  withoutDot = host => (
    (at) => at < 0 ? (host.endsWith('.') ? host.substring(0, host.length - 1) : host) :
      at !== host.lastIndexOf(':') || !host.substring(0, at).endsWith('.') ? host :
      host.substring(0, at - 1) + host.substring(at)
  )(host.indexOf(':')),
) => ({
  // within reports whether an address is in a set of ranges; undefined is all.
  within,

  // asks reports whether a server name is one of some, of which "*.domain" is a suffix; undefined is all.
  asks,

  // connects reports whether a client is one of some clients from outside of the mesh.
  connects,

  // request returns what rules match of the head of a message, in the canonical form; undefined if it has none.
  request: head => (
    (target) => target === null ? undefined : (
      (at) => ({
        target, path: at < 0 ? target : target.substring(0, at), method: head.method, headers: head.headers,
        host: withoutDot(head.headers.host || ''),
      })
    )(target.indexOf('?'))
  )(canonical(head.path)),

  // rule returns the first rule for a request of a client.
  rule: (rules, request, client) => rules.find(rule => matches(rule, request, client)),

  // rules returns the rules of a port for a host name.
  rules: (match, host) => (
    (name) => match.HttpServiceRouteRules[
      match.HttpHostPort2Service[name] || match.HttpHostPort2Service[name.split(':')[0] + ':*'] ||
      match.HttpHostPort2Service['*']
    ]?.RouteRules
  )(host.toLowerCase()),

  // cluster returns the name of one of the target clusters.
  cluster: weights => (
    (names) => names.length === 1 ? names[0] : chosen(weights, names, Math.random() * total(weights, names))
  )(Object.keys(weights)),

  // endpoint returns the address of one of the endpoints of a cluster, each in turn.
  endpoint: (name, cluster) => (
    (names, weights) => names.length === 0 ? undefined : cluster.Weighted ? (
      chosen(weights, names, Math.random() * total(weights, names))
    ) : names[(turns[name] = ((turns[name] || 0) + 1) % names.length)]
  )(Object.keys(cluster.Endpoints), cluster.Endpoints),

  // unanswered reports whether a response is that of the proxy because the server did not respond.
  unanswered: head => head.status === 502 && Object.keys(head.headers || {}).length === 0,

  // retries returns the policy of retries of a rule for a request: none if it is too long to be kept, or may be.
  retries: (rule, head) => rule?.RetryPolicy && !head.headers.upgrade && head.method !== 'CONNECT' && (
    head.headers['content-length'] !== undefined ? Number.parseInt(head.headers['content-length']) <= longestKept :
    head.method === 'GET' || head.method === 'HEAD' || head.method === 'OPTIONS' || head.method === 'DELETE'
  ) ? rule.RetryPolicy : undefined,

  // pause returns the time before a retry, in seconds.
  pause: (policy, retries) => Math.random() * policy.RetryBackoffBaseInterval * Math.min(Math.pow(2, retries - 1), 10),

  // response is that of the proxy itself. Calls of gRPC get a status of theirs.
  response: (request, status) => isCall(request) ? new Message(
    { status: 200, headers: { 'content-type': 'application/grpc' } }, null, { headers: { 'grpc-status': callStatus[status] } }
  ) : new Message({ status }),
}))()
