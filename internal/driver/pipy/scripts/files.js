// Files of certificates. They are read again when they change, so that renewed certificates are used at once.
((
  cache = {},
  stamp = name => (s => s ? s.mtime + ':' + s.ino : '')(os.stat(name)),
  read = (name, parse) => (
    (now, known) => known && known.stamp === now ? known.value : (
      (cache[name] = { stamp: now, value: parse(os.readFile(name)) }).value
    )
  )(stamp(name), cache[name]),
  end = '-----END CERTIFICATE-----',
) => ({
  // pair returns the certificate of a side, or undefined without one.
  pair: of => of?.Certificate ? {
    cert: read(of.Certificate, text => new crypto.CertificateChain(text)),
    key: read(of.Key, text => new crypto.PrivateKey(text)),
  } : undefined,

  // authorities returns the certificates in a file.
  authorities: name => os.stat(name) ? os.readFile(name).toString().split(end).filter(t => t.indexOf('BEGIN') >= 0).map(
    t => new crypto.Certificate(t + end + '\n')
  ) : [],
}))()
