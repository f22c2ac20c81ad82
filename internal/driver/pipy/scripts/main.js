// The sidecar: captured connections of the application leave through port 15001, those to it arrive on port 15000.
((
  files = pipy.solve('files.js'),
  routes = pipy.solve('routes.js'),
  config = JSON.decode(pipy.load('config.json')),
  trusts = JSON.decode(pipy.load('trust.json')),
  version = config.Version,

  // outbound returns the entry of a port for an address and a server name, which is undefined if the client does not use
  // TLS.
  outbound = (port, address, name) => (config.Outbound.TrafficMatches[port] || []).find(
    m => routes.within(m.DestinationIPRanges, address) && routes.asks(m.ServerNames, name)
  ) || (config.Spec.Traffic.EnableEgress ? { Protocol: 'tcp', Original: true } : undefined),

  // named reports whether an entry of a port that may be for an address depends on the server name.
  byName = (port, address) => (config.Outbound.TrafficMatches[port] || []).find(
    m => routes.within(m.DestinationIPRanges, address)
  )?.ServerNames,

  // excepted reports whether the client is one from outside of the mesh, to which the TLS of the listener does not apply.
  excepted = () => _match.TLS.Exceptions?.some?.(e => routes.connects(e, _client)),

  // turn chooses the endpoint of the next try.
  turn = () => (_endpoint = routes.endpoint(_name, _cluster), _key = _name + ' ' + _endpoint),

  // detectionTimeout ends the wait for the first bytes of a client after some seconds. Without any, the server may be the
  // one that sends first. asked returns the server name of a complete ClientHello.
  detectionTimeout = (seconds, asked) => new Timeout(seconds).wait().then(() => (
    _detected === undefined ? (_detected = '') : _detected === 'TLS' && asked() === undefined && (_detected = 'incomplete'),
    new Data
  )),

  host = address => address.indexOf(':') >= 0 ? '[' + address + ']' : address,
  named = (names, certificate) => !names || names.some(name => certificate.subjectAltNames.indexOf(name) >= 0),

) => trusts.reduce(
  (p, trust) => p

  .pipeline('accept ' + trust)
  .acceptTLS({
    certificate: () => files.pair(_match.TLS),
    trusted: trust ? files.authorities(trust) : [],
    alpn: ['h2', 'http/1.1'],
    verify: (ok, certificate) => ok && named(_match.TLS.Names, certificate) && (_client.names = certificate.subjectAltNames, true),
  }).to('inbound')

  .pipeline('connect ' + trust)
  .connectTLS({
    certificate: () => files.pair(_cluster.TLS),
    trusted: trust ? files.authorities(trust) : [],
    sni: () => _cluster.TLS.ServerName,
    verify: (ok, certificate) => ok && named(_cluster.TLS.Names, certificate),
  }).to($=>$.connect(() => _endpoint, { idleTimeout: 0 }))

  .pipeline('connect h2 ' + trust)
  .connectTLS({
    certificate: () => files.pair(_cluster.TLS),
    trusted: trust ? files.authorities(trust) : [],
    sni: () => _cluster.TLS.ServerName,
    alpn: 'h2',
    verify: (ok, certificate) => ok && named(_cluster.TLS.Names, certificate),
  }).to($=>$.connect(() => _endpoint, { idleTimeout: 0 })),

  pipy({
    _match: undefined, _client: null, _detected: undefined, _request: undefined, _rules: undefined, _rule: undefined,
    _retries: undefined, _tried: 0, _answered: false, _name: undefined, _cluster: undefined, _endpoint: undefined, _key: undefined, _status: 0, _original: '', _asked: undefined, _peeks: false,
    _trust: '',
  })

  // The configuration of the pod: the answer comes when it changes.
  .task('1s')
  .onStart(() => new Message({ path: '/repo/config.json?after=' + version, headers: { host: 'repo' } }))
  .muxHTTP(() => 'repo').to($=>$.connect(os.env.ANYMESH_REPO))
  .handleMessage(m => m.head.status === 200 && (config = JSON.decode(m.body), version = config.Version))
  .replaceMessage(() => new StreamEnd)

  .listen('127.0.0.1:9901')
  .demuxHTTP().to($=>$.replaceMessage(() => new Message('ready\n')))

  .listen('0.0.0.0:15001', { transparent: true, idleTimeout: 0 })
  .onStart(() => (
    _peeks = byName(__inbound.destinationPort, __inbound.destinationAddress),
    _match = _peeks ? undefined : outbound(__inbound.destinationPort, __inbound.destinationAddress),
    _original = host(__inbound.destinationAddress) + ':' + __inbound.destinationPort,
    _client = { names: [] },
    new Data
  ))
  .branch(
    () => _peeks, $=>$
      .insert(() => detectionTimeout(1, () => _asked))
      .detectProtocol(name => _detected = name)
      .handleTLSClientHello(hello => _asked = (hello.serverNames?.[0] || '').toLowerCase())
      .branch(
        () => _detected === 'TLS' ? _asked !== undefined : _detected !== undefined, $=>$
          .onStart(() => void (_match = outbound(__inbound.destinationPort, __inbound.destinationAddress, _asked)))
          .link('outbound')
      ),
    $=>$.link('outbound')
  )

  .pipeline('close')
  .replaceData(() => new StreamEnd)

  .pipeline('outbound')
  .branch(
    () => !_match || _match.Closed, $=>$.link('close'),
    () => _match.Protocol !== 'tcp', $=>$.link('requests'),
    $=>$.link('stream')
  )

  .listen('0.0.0.0:15000', { transparent: true, idleTimeout: 0 })
  .onStart(() => (
    _match = config.Inbound.TrafficMatches[__inbound.destinationPort],
    _client = { names: [], tls: false, address: __inbound.remoteAddress },
    new Data
  ))
  .branch(
    () => !_match || _match.Closed, $=>$.link('close'),
    () => !_match.TLS, $=>$.link('inbound'),
    $=>$
    .insert(() => detectionTimeout(_match.Protocol === 'tcp' ? 1 : 5, () => _client.asked))
    .detectProtocol(name => _detected = name)
    .handleTLSClientHello(hello => _client.asked = (hello.serverNames?.[0] || '').toLowerCase())
    .branch(
      () => _detected === 'TLS' && _client.asked !== undefined, $=>$.link('accept'),
      () => _detected === 'incomplete', $=>$.link('close'),
      () => _detected !== undefined && _detected !== 'TLS', $=>$.branch(
        () => _match.TLS.Mode !== 'Strict' || excepted(), $=>$.link('inbound'),
        $=>$.link('close')
      )
    )
  )

  .pipeline('accept')
  .onStart(() => (_client.tls = true, _trust = excepted() ? '' : _match.TLS.Trusted, new Data))
  .link(() => 'accept ' + _trust)

  .pipeline('inbound')
  .branch(
    () => _match.Protocol === 'tcp', $=>$.link('stream'),
    $=>$.link('requests')
  )

  .pipeline('stream')
  .onStart(() => (
    (name) => (
      _cluster = name && config.ClustersConfigs[name],
      _endpoint = _match.Original ? (
        _match.OriginalPort ? host(__inbound.destinationAddress) + ':' + _match.OriginalPort : _original
      ) : _match.Resolves ? _asked + '.:' + __inbound.destinationPort : _cluster && routes.endpoint(name, _cluster),
      new Data
    )
  )(_match.TargetClusters && routes.cluster(_match.TargetClusters)))
  .link('connect')

  .pipeline('connect')
  .branch(
    () => !_endpoint, $=>$.link('close'),
    () => _cluster?.TLS && _cluster.Version === 2, $=>$.link(() => 'connect h2 ' + _cluster.TLS.Trusted),
    () => _cluster?.TLS, $=>$.link(() => 'connect ' + _cluster.TLS.Trusted),
    $=>$.connect(() => _endpoint, { idleTimeout: 0 })
  )

  .pipeline('forward')
  .branch(
    () => _cluster?.Version === 2, $=>$.muxHTTP(() => _key, { version: 2 }).to($=>$.link('connect')),
    $=>$.muxHTTP(() => _key, { maxQueue: 1 }).to($=>$.link('connect'))
  )
  .handleMessageStart(() => void (_answered = true))
  // A connection that breaks before the response is like one that is refused.
  .replaceStreamEnd(end => _answered ? end : new Message({ status: 502 }))

  .pipeline('requests')
  .demuxHTTP().to($=>$
    .handleMessageStart(m => (
      _request = routes.request(m.head),
      _rules = _request && routes.rules(_match, _request.host),
      _rule = _rules && routes.rule(_rules, _request, _client),
      _rule && _rule.TargetClusters ? (
        _name = routes.cluster(_rule.TargetClusters),
        _cluster = config.ClustersConfigs[_name],
        _retries = routes.retries(_rule, m.head),
        turn(),
        _endpoint || (_status = 503)
      ) : _request && !_rules && config.Spec.Traffic.EnableEgress && _original ? (
        _endpoint = _original, _key = 'original ' + _original
      ) : (
        _status = !_request ? 400 : _match.Denies ? 403 : 404
      ),
      _request && (m.head.path = _request.target, m.head.headers.host = _request.host)
    ))
    .branch(
      () => _status, $=>$.replaceMessage(() => routes.response(_request, _status)),
      () => _retries, $=>$.replay({ delay: () => routes.pause(_retries, _tried) }).to($=>$
        .link('forward')
        .replaceMessageStart(m => (
          _tried < _retries.NumRetries && (
            routes.unanswered(m.head) ? _retries.Reset : _retries.RetryOn?.indexOf?.(m.head.status) >= 0
          ) ? (_tried++, _answered = false, turn(), new StreamEnd('Replay')) : m
        ))
      ),
      $=>$.link('forward')
    )
    .replaceMessageStart(m => (
      // Clients leave before the pod ends.
      config.Draining && _client.tls !== undefined && (m.head.headers = { ...m.head.headers, connection: 'close' }),
      routes.unanswered(m.head) ? routes.response(_request, 503) : m
    ))
  )
))()
