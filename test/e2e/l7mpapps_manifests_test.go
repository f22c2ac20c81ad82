package e2e

// l7mpApps are the applications and the gateway of the tasks in the documentation of l7mp: transcoders behind a unix
// socket, UDP workers, and DNS servers on a port of the loopback address.
const l7mpApps = `
apiVersion: v1
kind: ConfigMap
metadata: {name: l7mp-tasks, namespace: default}
data:
  transcoder.py: |
    import os, socket, threading
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("/tmp/uds-echo.sock")
    os.chmod("/tmp/uds-echo.sock", 0o777)
    listener.listen()
    def serve(connection):
        while data := connection.recv(65536):
            connection.sendall(f"Transcoded on {socket.gethostname()}: ".encode() + data)
    while True:
        threading.Thread(target=serve, args=listener.accept()[:1]).start()
  worker.py: |
    import socket
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("", 9999))
    while True:
        data, client = server.recvfrom(65536)
        server.sendto(f"Echo on {socket.gethostname()}: ".encode() + data, client)
  dns.py: |
    import socket
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 100))
    while True:
        query, client = server.recvfrom(512)
        head = query[:2] + b"\x85\x80\x00\x01\x00\x01\x00\x00\x00\x00"
        server.sendto(head + query[12:] + b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x00\x00\x04\xc0\xa8\x01\x03", client)
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: l7mp-ingress, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: l7mp-ingress}}
  template:
    metadata: {labels: {app: l7mp-ingress}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: l7mp, image: l7mp/l7mp}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: transcoder, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: transcoder}}
  template:
    metadata: {labels: {app: transcoder}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{name: program, configMap: {name: l7mp-tasks}}, {name: socket, emptyDir: {}}]
      containers:
        - {name: l7mp, image: l7mp/l7mp, volumeMounts: [{name: socket, mountPath: /tmp}]}
        - name: app
          image: anymesh.dev/python
          command: [python3, /program/transcoder.py]
          volumeMounts: [{name: program, mountPath: /program}, {name: socket, mountPath: /tmp}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: worker, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: worker}}
  template:
    metadata: {labels: {app: worker}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{name: program, configMap: {name: l7mp-tasks}}]
      containers: [{name: app, image: anymesh.dev/python, command: [python3, /program/worker.py], volumeMounts: [{name: program, mountPath: /program}]}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: media, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: media}}
  template:
    metadata: {labels: {app: media}}
    spec: {terminationGracePeriodSeconds: 1, containers: [{name: l7mp, image: l7mp/l7mp}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: dns, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: dns}}
  template:
    metadata: {labels: {app: dns}}
    spec:
      terminationGracePeriodSeconds: 1
      volumes: [{name: program, configMap: {name: l7mp-tasks}}]
      containers:
        - {name: l7mp, image: l7mp/l7mp}
        - {name: app, image: anymesh.dev/python, command: [python3, /program/dns.py], volumeMounts: [{name: program, mountPath: /program}]}
`
